"""Keeps supervisor/README.md's map true: includes point down, raw system calls and the wire format stay where they live.

Usage: check_includes.py [supervisor folder]. Prints FILE:LINE: what is wrong; exits 1 if there is anything.
"""

import re
import sys
from pathlib import Path

BELOW = {
    "base": set(),
    "sys": {"base"},
    "policy": {"sys", "base"},
    "script": {"sys", "base"},
    "wire": {"sys", "base"},
    "isolation": {"policy", "script", "wire", "sys", "base"},
    "result": {"isolation", "policy", "script", "wire", "sys", "base"},
    "run": {"result", "isolation", "policy", "script", "wire", "sys", "base"},
    "cli": {"run", "result", "isolation", "policy", "script", "wire", "sys", "base"},
    "python": {"wire", "script", "policy", "sys", "base"},
}
# The runner loads the filter that the supervisor compiled: the one piece of isolation that runs on its side.
EXCEPTIONS = {("python", "isolation/seccomp_child.h")}

RAW_CALL = re.compile(r"(?<![\w.>])(?:::)?syscall\s*\(\s*(?:SYS_|__NR_|\d|\w)")
HEAVY = {"nlohmann/json.hpp": "include it in the .cc that needs it (json_fwd.hpp serves a header)", "Python.h": "only python/ knows CPython"}


def problems(root):
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".h", ".cc")):
        folder = path.relative_to(root).parts[0]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            where = f"{path}:{number}"
            code = line.split("//", 1)[0]
            include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if include:
                target = include[2]
                owner = target.split("/")[0]
                if folder not in BELOW:
                    yield f"{where}: {folder}/ has no place in the order of includes"
                elif include[1] == '"' and owner in BELOW and owner != folder and owner not in BELOW[folder] and (folder, target) not in EXCEPTIONS:
                    yield f"{where}: {folder}/ may not include {target}: includes point down"
                if target == "nlohmann/json.hpp" and path.suffix == ".h":
                    yield f"{where}: {target} in a header: {HEAVY[target]}"
                if (target == "Python.h" or target.startswith("pybind11/")) and folder != "python":
                    yield f"{where}: {target} outside python/: {HEAVY['Python.h']}"
            elif folder != "sys" and path.parent.name != "interpose" and not path.stem.endswith("_child") and RAW_CALL.search(code):
                yield f"{where}: raw system call outside sys/, python/interpose/ and *_child.cc"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "supervisor")))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
