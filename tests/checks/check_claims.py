"""SECURITY.md and the tests name each other: every claim (C-NN) names tests that exist, and every claim that a test is marked with is in SECURITY.md.

A claim's tests are the `Suite.Name` (GoogleTest) and `tests/….py::name` (pytest) in its "Tests" line. Tests are marked by `@pytest.mark.claim("C-07")`, or in C++
by the id as a string or in a comment. Usage: check_claims.py [repository]; exits 1 if there is anything to say.
"""

import re
import sys
from pathlib import Path

CLAIM = re.compile(r"\bC-\d\d\b")


def gtests(root):
    """Every Suite.Name; parametrised suites count by their own name."""
    names = set()
    for path in (root / "tests").rglob("*.cc"):
        for suite, name in re.findall(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", path.read_text(encoding="utf-8"), re.M):
            names.add(f"{suite}.{name}")
    return names


def pytests(root):
    names = set()
    for path in (root / "tests").rglob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M):
            names.add(f"{path.relative_to(root)}::{name}")
    return names


def marked(root):
    """claim -> the first file that is marked with it."""
    found = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".cc", ".h", ".py") and path.relative_to(root).parts[1] not in ("checks", "cases"):
            for claim in CLAIM.findall(path.read_text(encoding="utf-8")):
                found.setdefault(claim, path.relative_to(root))
    return found


def problems(root):
    text = (root / "SECURITY.md").read_text(encoding="utf-8")
    claims = dict(re.findall(r"^### (C-\d\d)\b.*?\n(.*?)(?=^##|\Z)", text, re.M | re.S))
    if not claims:
        yield "SECURITY.md has no claim"
    existing = gtests(root) | pytests(root)
    marks = marked(root)
    for claim, body in claims.items():
        line = re.search(r"^- \*\*Tests\*\*:(.*?)(?=^- |\Z)", body, re.M | re.S)
        named = re.findall(r"`([^`]+)`", line[1]) if line else []
        if not named:
            yield f"SECURITY.md: {claim} names no test"
        for name in named:
            if name not in existing:
                yield f"SECURITY.md: {claim} names `{name}`, which does not exist"
        if claim not in marks:
            yield f"SECURITY.md: {claim} has no test that is marked with it"
    for claim in re.findall(CLAIM, re.sub(r"^### C-\d\d", "", text, flags=re.M)):
        if claim not in claims:
            yield f"SECURITY.md: {claim} is mentioned but not listed"
    for claim, path in marks.items():
        if claim not in claims:
            yield f"{path}: marked {claim}, which SECURITY.md lacks"


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
