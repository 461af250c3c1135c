"""Every case of tests/cases/: what users of such systems ran into, and the right outcome."""

import json
import os
import subprocess
import threading
import time

import cases
import harness
import pytest

# Cases that a later issue brings: case -> the number. Anything else must pass.
LATER = {}

ALL = cases.load()
CHECKS = {case.name: cases.checks(case) for case in ALL}  # an expectation that can't be interpreted fails here, at collection


def parameters():
    for case in ALL:
        for variant in case.run.get("variants", [None]):
            name = case.name if variant is None else f"{case.name}-{variant if isinstance(variant, str) else json.dumps(variant)}"
            marks = [pytest.mark.skip(reason=f"issue {LATER[case.name]}")] if case.name in LATER else []
            yield pytest.param(case, variant, id=name.replace(" ", "-").replace("/", "-"), marks=marks)


def not_a_file(podjail, kind):
    """The path of a script that is none; with what must be undone or stopped afterwards."""
    path = podjail.dir / "in" / "script.py"
    nothing = lambda: None  # noqa: E731
    match kind:
        case "missing":
            return path, nothing
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "symlink to /etc/passwd":
            path.symlink_to("/etc/passwd")
        case "symlink loop":
            path.symlink_to("script.py")
        case "mode 000":
            podjail.write("script.py", "print(1)\n", mode=0)
            return path, nothing
        case "grows while read":
            podjail.write("script.py", "#" * 79 + "\n")
            stop = threading.Event()

            def grow():
                with open(path, "ab", buffering=0) as file:
                    while not stop.is_set() and file.tell() < 200 << 20:
                        file.write(b"# and one more line\n" * 50)

            writer = threading.Thread(target=grow)
            writer.start()
            while path.stat().st_size < 5 << 20:  # beyond max_script, so that the outcome doesn't hang on who runs when
                time.sleep(0.001)

            def end():
                stop.set()
                writer.join()

            return path, end
        case _:
            raise ValueError(kind)
    podjail.own(podjail.dir / "in")
    return path, nothing


def run_case(podjail, case, variant):
    """One run of the case as it stands in its case.json."""
    run = case.run
    policy = podjail.policy(run.get("policy", {}))
    options, args, start = [], run.get("argv", []), {}
    undo = lambda: None  # noqa: E731
    if isinstance(variant, str):
        script, undo = not_a_file(podjail, variant)
    elif "generate" in run:
        script = podjail.dir / "in" / case.script_name
        subprocess.run([harness.PYTHON, case.folder / "files/make.py", script], check=True)
        podjail.own(podjail.dir / "in")
    else:
        script = podjail.write(case.script_name, case.source)
        for name in run.get("files", []):
            podjail.write(name, (case.folder / "files" / name).read_bytes())
        if "files" in run:
            options += ["--input", script.parent]
    if run["mode"] == "function":
        payload = variant if isinstance(variant, dict) else run["payload"]
        options += ["--function", run["function"], "--payload", podjail.write("../payload.json", json.dumps(payload))]
    if "env" in run:
        start["clean_env"] = {**run["env"], "TMPDIR": str(podjail.dir / "tmp")}
    try:
        return podjail.run(script, *args, options=options, policy=policy, input=case.stdin, **start)
    finally:
        undo()


@pytest.mark.parametrize(("case", "variant"), parameters())
def test_case(podjail, binary, base, case, variant):
    if "run_as" in case.run:
        assert case.run["run_as"] == "uid 1000650000, no /etc/passwd entry"
        harness.need("root", os.geteuid() == 0, "needs root to become a uid that has no passwd entry")
        podjail = harness.Podjail(binary, base, uid=1000650000, gid=0)
    outcomes = [run_case(podjail, case, variant) for _ in range(case.run.get("repeat", 1))]
    for outcome in outcomes:
        for check in CHECKS[case.name]:
            check(outcome, case)
    if len(outcomes) > 1:
        assert case.expect["stdout"] == "differs between the two runs"
        assert len({outcome.stdout for outcome in outcomes}) == len(outcomes)


def test_not_a_file_reasons_differ(podjail, binary, base):
    """Case 505: one distinct reason per kind of path that is no script."""
    kinds = ["missing", "directory", "fifo", "symlink loop", "mode 000"]
    reasons = {}
    for kind in kinds:
        jail = harness.Podjail(binary, base)
        script, undo = not_a_file(jail, kind)
        reasons[kind] = jail.run(script).result["reason"]
        undo()
        jail.remove()
    assert len(set(reasons.values())) == len(kinds), reasons


LEGIT = cases.CASES / "legit"


@pytest.mark.parametrize("entry", json.loads((LEGIT / "index.json").read_text()), ids=lambda entry: entry["name"])
def test_honest_scripts_run_as_with_python3(podjail, entry):
    """tests/cases/legit: the default profile takes them, and their output is python3's."""
    script = podjail.write(f"{entry['name']}.py", (LEGIT / f"{entry['name']}.py").read_bytes())
    given = LEGIT / f"{entry['name']}.in"
    outcome = podjail.run(script, input=given.read_bytes() if given.exists() else None)
    outcome.expect("succeeded" if entry["exit_code"] == 0 else "failed", code=entry["exit_code"])
    assert outcome.stdout == (LEGIT / f"{entry['name']}.out").read_bytes()
    assert sorted(entry.get("artifacts", [])) == sorted(file["path"] for file in outcome.get("artifacts.files"))


@pytest.mark.parametrize("entry", [e for e in json.loads((LEGIT / "index.json").read_text()) if "function" in e], ids=lambda entry: entry["name"])
def test_honest_functions_return_their_value(podjail, entry):
    function = entry["function"]
    script = podjail.write(f"{entry['name']}.py", (LEGIT / f"{entry['name']}.py").read_bytes())
    payload = podjail.write("../payload.json", json.dumps(function["payload"]))
    outcome = podjail.run(script, options=["--function", function["name"], "--payload", payload]).expect("succeeded", code=0)
    assert outcome.get("script.return_value") == function["returns"]
    assert outcome.stdout.decode() == function["stdout"]
    assert outcome.get("script.function") == function["name"]


PROBES = json.loads((cases.CASES / "validation_probes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("probe", [p for p in PROBES if p["kind"] == "benign"], ids=lambda probe: probe["id"])
def test_benign_probes_run(podjail, probe):
    outcome = podjail.run(probe["source"]).expect("succeeded", code=0)
    assert outcome.stdout.startswith(b"OK")


@pytest.mark.skip(reason="issue 5")
@pytest.mark.parametrize("probe", [p for p in PROBES if p["kind"] == "attack"], ids=lambda probe: probe["id"])
def test_attack_probes_do_not_reach_their_goal(podjail, probe):
    outcome = podjail.run(probe["source"], policy="strict")
    assert b"OK" not in outcome.stdout, outcome.describe()
