"""Reads tests/cases/: what to run, and what each expectation of a case.json means as a check. An expectation that this file can't interpret is an error when
the tests are collected, never ignored."""

import base64
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from harness import EXIT_CODES, dig

CASES = Path(__file__).resolve().parents[1] / "cases"


@dataclass
class Case:
    name: str
    area: str
    run: dict
    expect: dict

    @property
    def folder(self):
        return CASES / self.name

    @property
    def script_name(self):
        return self.run.get("script_name", "script.py")

    @property
    def source(self):
        return (self.folder / "script.py").read_bytes()

    @property
    def stdin(self):
        """Bytes, or None where no stdin is given."""
        if "stdin_b64" in self.run:
            return base64.b64decode(self.run["stdin_b64"])
        if "stdin_gen" in self.run:
            return self.run["stdin_gen"]["repeat"].encode() * self.run["stdin_gen"]["count"]
        given = self.run.get("stdin")
        return given.encode() if given is not None else None


RUN_KEYS = set(
    "mode policy argv stdin stdin_b64 stdin_gen env files payload function variants repeat script_name generate run_as".split()
)


def load():
    found = []
    for file in sorted(CASES.glob("[0-9]*/case.json")):
        raw = json.loads(file.read_text(encoding="utf-8"))
        unknown = set(raw["run"]) - RUN_KEYS
        if unknown:
            raise ValueError(f"{file}: run.{sorted(unknown)} can't be interpreted")
        found.append(Case(file.parent.name, raw["area"], raw["run"], raw["expect"]))
    return found


# --- expectations ---------------------------------------------------------------------------------------------------------------------------------------------

Mi = 1 << 20

# `result` entries that are no dotted path with a literal value: (key, value) -> a check of (outcome, case) that asserts.
WORDS = {}


def words(key, value):
    def keep(check):
        WORDS[key, json.dumps(value)] = check
        return check

    return keep


@words("stdout.tail ends with", "END\n")
def _(outcome, case):
    assert outcome.stdout.endswith(b"END\n")


@words("stdout.dropped", "bytes minus kept")
def _(outcome, case):
    assert outcome.get("stdout.kept") <= 64 * 1024 < outcome.get("stdout.bytes")


@words("stdout.sha256", "of all 8000004 bytes")
def _(outcome, case):
    assert outcome.get("stdout.sha256") == case.expect["stdout_sha256"]


@words("stdout.bytes", ">= 8388608")
def _(outcome, case):
    assert outcome.get("stdout.bytes") >= 8388608


@words("no U+FFFD in", "stdout.head and stdout.tail")
def _(outcome, case):
    assert "\ufffd" not in outcome.get("stdout.text")


@words("len(head)+len(tail) in bytes", "<= 1000")
def _(outcome, case):
    assert outcome.get("stdout.kept") <= 1000
    assert outcome.get("stdout.truncated") is True


@words("script.exception.message", "half emoji \\ud83d and escaped byte \\udcff end (escaped text)")
def _(outcome, case):
    assert outcome.get("script.exception.message") == "half emoji \\ud83d and escaped byte \\udcff end"


@words("result.json", "strict JSON, no lone surrogate escapes")
def _(outcome, case):
    assert outcome.result is not None  # the harness parses every result so


@words("usage.peak_memory", "between 200Mi and 300Mi")
def _(outcome, case):
    assert 200 * Mi <= outcome.get("usage.peak_memory") <= 300 * Mi


@words("usage.user+sys", "about 1 s")
def _(outcome, case):
    assert 0.9 <= outcome.get("usage.user") + outcome.get("usage.system") <= 1.5


@words("usage.scratch_bytes", "<= 64Mi plus one poll")
def _(outcome, case):
    assert 32 * Mi <= outcome.get("usage.scratch_bytes") <= 64 * Mi + 256 * Mi  # what a disk takes within one poll


@words("violations[].name", "clone | vfork | fork")
def _(outcome, case):
    assert any(outcome.violation(what) for what in ("clone", "vfork", "fork")), outcome.result["violations"]


@words("violations[].name", "kill")
def _(outcome, case):
    assert outcome.violation("kill"), outcome.result["violations"]


@words("violations[].count", ">= 1")
def _(outcome, case):
    assert all(violation["count"] >= 1 for violation in outcome.result["violations"])


@words("validation.findings", "at most a finding for the literal __import__ call")
def _(outcome, case):
    lines = [number for number, line in enumerate(case.source.decode().splitlines(), 1) if "__import__" in line]
    assert all(finding["line"] in lines for finding in outcome.get("validation.findings"))


@words("validation time", "< 1 s")
def _(outcome, case):
    assert outcome.get("timings.validation") < 1


@words("line", 2)  # of the NUL byte
def _(outcome, case):
    assert "line 2" in outcome.result["message"]


@words("reason", "one distinct value per variant")
def _(outcome, case):
    assert outcome.result["reason"]  # that they differ is compared over the variants, in test_not_a_file_reasons_differ


@words("script.return_value", "absent")
def _(outcome, case):
    assert outcome.get("script.return_value") is None


@words("script.return_value.same", "equal to the payload")
def _(outcome, case):
    assert outcome.get("script.return_value.same") == case.run["payload"]


# Where a case names it differently, the contract wins.
CONTRACT = {("reason", "stdout"): "limits.output"}

# Paths whose string values are meant literally.
LITERAL = re.compile(r"reason|script\.return_value\..+|script\.exception\.type|validation\.findings\[\d\]\.message")


def result_check(key, value):
    """-> function(outcome, case)."""
    if (key, json.dumps(value)) in WORDS:
        return WORDS[key, json.dumps(value)]
    value = CONTRACT.get((key, value if isinstance(value, str) else None), value)
    if key.endswith(" contains"):
        path, parts = key.removesuffix(" contains"), [value] if isinstance(value, str) else value

        def contains(outcome, case):
            text = outcome.get(path)
            assert all(part in text for part in parts), text

        return contains
    if " " in key or "[]" in key or (isinstance(value, str) and not LITERAL.fullmatch(key)):
        raise ValueError(f"expect.result[{key!r}] = {value!r} can't be interpreted")

    def equal(outcome, case):
        assert dig(outcome.result, key) == value, f"{key}: {dig(outcome.result, key)!r} is not {value!r}"

    return equal


SIGNALS = {2: "SIGINT", 9: "SIGKILL", 11: "SIGSEGV"}


def in_script_terms(text, name):
    """The script's path in tracebacks and warnings, wherever it lies, as {script}."""
    return re.sub(r'(?:/[^\s":]+)*/?' + re.escape(name) + r"(?=[\":\n])", "{script}", text)


def expectation(key, value):
    """-> function(outcome, case) that asserts one entry of `expect`, or None where another entry covers it."""

    def check(test, show=None):
        def run(outcome, case):
            assert test(outcome, case), f"{key}: wanted {value!r}{f', got {show(outcome)!r}' if show else ''}\n{outcome.describe()}"

        return run

    match key, value:
        case "status", _:
            accepted = value if isinstance(value, list) else [value]
            return check(lambda o, c: o.status in accepted and o.code == EXIT_CODES[o.status])
        case "exit_code", _:
            return check(lambda o, c: o.get("exit.code") == value, lambda o: o.get("exit.code"))
        case "signal", None:
            return check(lambda o, c: o.get("exit.signal") is None, lambda o: o.get("exit.signal"))
        case "signal", int():
            return check(lambda o, c: o.get("exit.signal") == SIGNALS[value], lambda o: o.get("exit.signal"))
        case "supervisor_exit", int():
            return check(lambda o, c: o.code == value)
        case "stdout", "differs between the two runs":
            return None  # compared over the repeats
        case "stdout", str():
            return check(lambda o, c: o.stdout == value.encode() and o.out == value.encode(), lambda o: (o.stdout, o.out))
        case "stdout_b64", str():
            return check(lambda o, c: o.stdout == base64.b64decode(value) == o.out)
        case "stdout_bytes", int():
            return check(lambda o, c: o.get("stdout.bytes") == value, lambda o: o.get("stdout.bytes"))
        case "stdout_sha256", str():
            return check(lambda o, c: o.get("stdout.sha256") == value, lambda o: o.get("stdout.sha256"))
        case "stdout_not_contains", list():
            return check(lambda o, c: not any(part.encode() in o.stdout for part in value))
        case "stderr", str():
            return check(lambda o, c: in_script_terms(o.stderr, c.script_name) == value, lambda o: o.stderr)
        case "stderr_contains", list():
            return check(lambda o, c: all(part in o.stderr for part in value), lambda o: o.stderr)
        case "stderr_not_contains", list():
            return check(lambda o, c: not any(part in o.stderr for part in value), lambda o: o.stderr)
        case "stderr_count", dict():
            return check(lambda o, c: all(o.stderr.count(part) == count for part, count in value.items()), lambda o: o.stderr)
        case "message_contains", list():
            return check(lambda o, c: all(part in o.result["message"] for part in value), lambda o: o.result["message"])
        case "wall_seconds_below", _:
            return check(lambda o, c: o.seconds < value, lambda o: o.seconds)
        case "left_processes", 0:
            return check(lambda o, c: not o.left)
        case "artifacts", list():
            return check(lambda o, c: sorted(a["path"] for a in o.get("artifacts.files")) == sorted(value), lambda o: o.get("artifacts"))
        case "artifacts_include", list():
            return check(lambda o, c: set(value) <= {a["path"] for a in o.get("artifacts.files")}, lambda o: o.get("artifacts"))
        case "artifacts_refused", dict():
            return check(
                lambda o, c: set(value.items()) <= {(a["path"], a["reason"]) for a in o.get("artifacts.refused")}, lambda o: o.get("artifacts")
            )
        case "artifacts_refused", "the two with control characters":
            return check(lambda o, c: sorted(a["reason"] for a in o.get("artifacts.refused")) == ["bad_name"] * 2, lambda o: o.get("artifacts"))
        case "artifacts_or_refused", list():
            return check(
                lambda o, c: set(value) == {a["path"] for a in o.get("artifacts.files")}
                or any(a["path"] in (*value, *map(os.path.dirname, value)) for a in o.get("artifacts.refused")),
                lambda o: o.get("artifacts"),
            )
        case "artifact_sha256", "given for each":
            return check(lambda o, c: all(len(a["sha256"]) == 64 for a in o.get("artifacts.files")))  # the harness compares them with the files
        case "cleanup", "no file left after removal of the scratch":
            return check(lambda o, c: True)  # the harness looks after every run
        case "cli", "podjail run prints no raw ESC unless --raw":
            return None  # live output is passed on as it is; test_cli.test_result_show_neutralises_escapes has the terminal's side
        case "note", "hard link pair: refused as hard_link or collected once":
            pair = {"real.txt", "second-name.txt"}
            return check(
                lambda o, c: all(a["reason"] == "hard_link" for a in o.get("artifacts.refused") if a["path"] in pair)
                and len(pair & {a["path"] for a in o.get("artifacts.files")}) <= 1,
                lambda o: o.get("artifacts"),
            )
        case "result", dict():
            parts = [result_check(name, wanted) for name, wanted in value.items()]

            def all_parts(outcome, case):
                for part in parts:
                    try:
                        part(outcome, case)
                    except AssertionError as error:
                        raise AssertionError(f"{error}\n{outcome.describe()}") from None

            return all_parts
        case "python3_reference", dict():
            return None  # what python3 does where podjail differs on purpose
    raise ValueError(f"expect.{key} = {value!r} can't be interpreted")


def checks(case):
    """The whole of `expect` as a list of checks. Raises where an entry can't be interpreted."""
    try:
        found = [expectation(key, value) for key, value in case.expect.items()]
    except ValueError as error:
        raise ValueError(f"{case.name}: {error}") from None
    return [check for check in found if check]
