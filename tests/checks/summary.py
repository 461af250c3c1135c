"""Sums up JUnit reports (ctest and pytest): each skip with its reason, each failure by name, then "N passed, N failed, N skipped" on a line of its own.

Exits 1 on any failure, and when no test ran at all.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case):
    note = case.find("skipped")
    message = (note.get("message") or note.text or "") if note is not None else ""
    if not message or "SKIP_REGULAR_EXPRESSION" in message:  # ctest: GoogleTest's own text stands in the output, below "FILE:LINE: Skipped"
        output = case.findtext("system-out") or ""
        found = re.search(r": Skipped\n(.+)", output)
        message = found.group(1) if found else message or "no reason given"
    return " ".join(message.split())


def main(paths):
    passed, failed, skipped = 0, [], {}
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            name = case.get("name")
            if case.get("classname") not in (None, name):
                name = f"{case.get('classname')}::{name}"
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                failed.append(name)
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                skipped.setdefault(skip_reason(case), []).append(name)
            else:
                passed += 1
    print()
    for reason, names in sorted(skipped.items()):
        print(f"skipped ({len(names)}): {reason}: {', '.join(names[:4])}{', …' if len(names) > 4 else ''}")
    for name in failed:
        print(f"FAILED: {name}")
    count = sum(map(len, skipped.values()))
    print(f"{passed} passed, {len(failed)} failed, {count} skipped")
    if passed + len(failed) == 0:
        print("no test ran", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
