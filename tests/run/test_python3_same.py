"""Differential: the same script through /usr/bin/python3.11 and through podjail has the same stdout, stderr (paths normalised) and exit code or signal."""

import re
import signal
import subprocess

import cases
import harness
import pytest
from samples import SAMPLES

# What only shows with validation off: code from text, frames and the like are the validator's business, not the runner's.
LOOSE = {"validation.enabled": "false", "audit.action": '"off"'}


def plain(podjail, script, args, stdin):
    """By plain python3, as the same user, in an empty folder and home of its own."""
    for name in ("plain", "plain-home", "plain-tmp"):
        (podjail.dir / name).mkdir()
        podjail.own(podjail.dir / name)
    command = [*harness.as_user(), "env", "--default-signal", harness.PYTHON, script, *args]  # under nohup HUP would be ignored
    env = podjail.environment({"HOME": str(podjail.dir / "plain-home"), "TMPDIR": str(podjail.dir / "plain-tmp")})
    done = subprocess.run(command, input=stdin or b"", capture_output=True, cwd=podjail.dir / "plain", env=env, timeout=60)
    podjail.reap()  # what python3 itself leaves, such as multiprocessing's resource tracker, is none of podjail's
    return done


def normalised(text, name):
    text = cases.in_script_terms(text, name)
    text = re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", text)
    text = re.sub(r"refcount : \d+", "refcount : N", text)
    return re.sub(r"(Ran \d+ tests? in )[\d.]+s", r"\1TIME", text)


def compare(podjail, script, args=(), stdin=None, sets=None, policy=None):
    reference = plain(podjail, script, args, stdin)
    outcome = podjail.run(script, *args, input=stdin, sets=sets, policy=policy)
    code, died = outcome.get("exit.code"), outcome.get("exit.signal")
    expected = (reference.returncode, None) if reference.returncode >= 0 else (None, signal.Signals(-reference.returncode).name)
    assert (code, died) == expected, outcome.describe()
    name = script.name
    assert normalised(outcome.stdout.decode("utf-8", "backslashreplace"), name) == normalised(reference.stdout.decode("utf-8", "backslashreplace"), name)
    assert normalised(outcome.stderr, name) == normalised(reference.stderr.decode("utf-8", "replace"), name)
    assert outcome.out == outcome.stdout
    return outcome


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(podjail, name):
    source = SAMPLES[name]
    source, stdin = source if isinstance(source, tuple) else (source, None)
    outcome = compare(podjail, podjail.write("script.py", source), stdin=stdin, sets=LOOSE)
    assert outcome.status == ("succeeded" if outcome.get("exit.code") == 0 else "killed" if outcome.get("exit.signal") else "failed")


ARGUMENTS = [["a", "b c", ""], ["--policy", "strict", "-x", "--"], ["ünï", "😀", "$(id)", '"', "\\"], ["-"], [b"\xff\xfe"], ["x" * 100_000]]


@pytest.mark.parametrize("args", ARGUMENTS, ids=["spaces", "options", "unicode", "dash", "bytes", "long"])
def test_arguments(podjail, args):
    script = podjail.write("script.py", "import sys\nprint(ascii(sys.argv[1:])[:2000], len(sys.argv))\n")
    compare(podjail, script, args)


@pytest.mark.parametrize("name", ["with space.py", "ünïcode.py", "no_suffix", "dots.in.name.py", "-dash.py", "quote'\".py", "json.py", "test.py"])
def test_script_names(podjail, name):
    source = "import os, sys\nprint(os.path.basename(sys.argv[0]), os.path.basename(__file__))\nraise ValueError('x')\n"
    compare(podjail, podjail.write(name, source), sets=LOOSE)


# Cases that python3 ends as podjail must. Those with python3_reference differ on purpose; for the others left out test_cases.py has the expectations: python3 has no --input,
# and a run's user or environment is not this test's.
SAME = [
    case
    for case in cases.load()
    if case.area == "fidelity" and "python3_reference" not in case.expect and not {"run_as", "repeat", "files", "env"} & set(case.run)
]


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.name)
def test_fidelity_case(podjail, case):
    script = podjail.write(case.script_name, case.source)
    compare(podjail, script, case.run.get("argv", []), case.stdin, LOOSE, podjail.policy(case.run["policy"]))


@pytest.mark.parametrize("script", sorted((cases.CASES / "legit").glob("*.py")), ids=lambda path: path.stem)
def test_honest_script(podjail, script):
    given = script.with_suffix(".in")
    compare(podjail, podjail.write(script.name, script.read_bytes()), stdin=given.read_bytes() if given.exists() else None)
