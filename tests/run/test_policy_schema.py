"""The shipped policy schema and podjail's own parser give the same verdict, wherever JSON Schema can express the rule.

Needs jsonschema (apt: python3-jsonschema) and a built podjail (conftest.built_folder says which).
"""

import copy
import json
import os
import pathlib
import subprocess

import jsonschema
import pytest
from conftest import built_folder

PODJAIL = os.environ.get("PODJAIL_BIN") or str(built_folder() / "podjail")
POLICIES = pathlib.Path(__file__).resolve().parents[2] / "policies"
PROFILES = sorted(path.stem for path in POLICIES.glob("*.json"))
TIMEOUT = 30


def podjail(*arguments, text=None):
    return subprocess.run([PODJAIL, "policy", *arguments], input=text, capture_output=True, text=True, timeout=TIMEOUT)


@pytest.fixture(scope="module")
def schema():
    shown = podjail("schema", "policy")
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def nested(path, value):
    for part in reversed(path.split(".")):
        value = {part: value}
    return {"schema": "podjail.policy/v1", **value}


SIZE_GOOD = [1 << 24, "16Mi", "1.5Gi", "64M", "17000000", 9223372036854775807, "7Ei"]
SIZE_BAD = [-1, 1.5, "", "12 Mi", "12MB", "12mb", "Mi", "1e3", "-5", "0x10", "+1", True, [], {}, 9223372036854775808]
TIME_GOOD = [1, 2.5, "30s", "500ms", "1m30s", "1h", "2.5", "0.001", "1h2m3s4ms"]
TIME_BAD = [-1, "-1s", "", "5x", "1d", "30s1m", "1s1s", "1m30", "5 s", "s", "1e3", True, [], {}, 400000000]

GOOD = {
    "name": ["a", "my-team", "A.b_c-9", "x" * 63],
    "extends": ["default", "strict"],
    "validation.enabled": [True, False],
    "validation.imports.deny": [[], ["socket", "http.server", "_x9", "über.straße"]],
    "validation.imports.allow": [None, [], ["math"]],
    "validation.builtins.deny": [[], ["eval", "__import__"]],
    "validation.rules": [{}, {"PJ101": "off", "PJ203": "warn", "PJ999": "error"}],
    "validation.max_script": [1, "4Mi", 67108864],
    "validation.suppressions": [True],
    "audit.action": ["off", "record", "deny"],
    "python.version": [None, "3.9", "3.11", "3.14"],
    "python.paths": [[], ["/opt/libs"]],
    "idempotent": [True, False],
    "limits.wall": [None, *TIME_GOOD],
    "limits.grace": [0, "0s", *TIME_GOOD],
    "limits.cpu": [None, *TIME_GOOD],
    "limits.memory": [None, *SIZE_GOOD],
    "limits.processes": [None, 1, 512, 4194304],
    "limits.threads": [None, 1, 64],
    "limits.open_files": [None, 16, 1048576],
    "limits.file_size": [None, 1, "1k", *SIZE_GOOD],
    "limits.scratch": [None, 1, *SIZE_GOOD],
    "limits.scratch_files": [None, 1, 20000],
    "limits.stdout": [0, "0", *SIZE_GOOD],
    "limits.stderr": [0, "0", *SIZE_GOOD],
    "limits.output": [None, 1, *SIZE_GOOD],
    "limits.artifact_bytes": [0, *SIZE_GOOD],
    "limits.artifact_files": [0, 256],
    "limits.return_value": [4, "1Mi", 33554432],
    "filesystem.read": [[], ["/"], ["/usr", "/a b/ü", "/a/...", "/usr//lib/"]],
    "filesystem.write": [["/workspace"]],
    "filesystem.execute": [["/usr/bin"]],
    "network.connect_tcp": [[], [1, 443, 65535]],
    "network.bind_tcp": [[8080]],
    "syscalls.base": ["python", "exec"],
    "syscalls.allow": [[], ["openat", "clone3", "lseek"]],
    "syscalls.deny": [["ptrace"]],
    "environment.pass": [[], ["LANG", "LC_*", "_x", "PYTHON*", "LDAP_*", "P"]],
    "environment.set": [{}, {"A": "", "LDX": "1", "PODJAILX": "é\n"}],
    "isolation.require": [[], ["no_new_privs", "capabilities", "rlimits", "landlock.filesystem", "landlock.network", "landlock.scopes", "seccomp", "seccomp.notify", "namespaces"]],
    "isolation.namespaces": ["never", "if-available", "always"],
    "result.text": [0, "64Ki", 16777216],
}

BAD = {
    "name": [None, "", "-x", "a b", "x" * 64, 5, "ü"],
    "extends": [None, "", 5, []],
    "validation": [None, [], "on"],
    "validation.enabled": [None, 1, "true"],
    "validation.unknown": [1],
    "validation.imports": [[]],
    "validation.imports.deny": [None, "math", [1], ["a..b"], [""], ["1a"], ["a b"], [".a"], ["a."]],
    "validation.imports.allow": ["math", {}, [None]],
    "validation.builtins.deny": [None, ["a.b"], ["9"], [""]],
    "validation.rules": [None, [], {"PJ1": "warn"}, {"XX101": "warn"}, {"PJ101": "maybe"}, {"PJ101": None}, {"PJ1011": "off"}],
    "validation.max_script": [None, 0, 67108865, *SIZE_BAD],
    "audit.action": [None, "allow", True],
    "python.version": [3.11, "2.7", "3", "3.", "3.011", "3.100", "3.11.2"],
    "python.paths": [None, ["lib"], "/opt"],
    "idempotent": [None, 0, "yes"],
    "limits.wall": [0, "0", "0s", "0h0m", *TIME_BAD],
    "limits.grace": [None, *TIME_BAD],
    "limits.cpu": [0, "0.000", *TIME_BAD],
    "limits.memory": [0, "0", "0Mi", 16777215, *SIZE_BAD],
    "limits.processes": [0, -1, 1.5, "1", True, 4194305],
    "limits.threads": [0, -1, "64", []],
    "limits.open_files": [0, 15, 1048577, "256"],
    "limits.file_size": [0, "0.0k", *SIZE_BAD],
    "limits.scratch": [0, *SIZE_BAD],
    "limits.scratch_files": [0, "20000", 0.5],
    "limits.stdout": [None, *SIZE_BAD],
    "limits.output": [0, *SIZE_BAD],
    "limits.artifact_bytes": [None, *SIZE_BAD],
    "limits.artifact_files": [None, -1, "1"],
    "limits.return_value": [None, 0, 3, 33554433, *SIZE_BAD],
    "limits.wal": ["5s"],
    "filesystem.read": [None, "/usr", ["usr"], [""], ["/a/../b"], ["/a/."], ["/.."], ["/./a"], ["/a\u0000b"], [1]],
    "network.connect_tcp": [None, 443, [0], [65536], [-1], ["443"], [1.5], [None]],
    "syscalls.base": [None, "node"],
    "syscalls.allow": [None, ["Open"], [""], ["a-b"], [1]],
    "environment.pass": [None, "LANG", ["LD_PRELOAD"], ["LD_*"], ["L*"], ["LD*"], ["*"], ["P*"], ["PODJAIL_*"], ["PODJAIL_KEY"], ["A*B"], ["1A"], [""]],
    "environment.set": [None, [], {"LD_PRELOAD": "x"}, {"PODJAIL_X": "x"}, {"1A": "x"}, {"": "x"}, {"A": 1}, {"A": None}, {"A": "\u0000"}],
    "isolation.require": [None, ["secomp"], [1], "seccomp"],
    "isolation.namespaces": [None, "sometimes", True],
    "result.text": [None, 16777217, *SIZE_BAD],
    "result": [None],
    "unknown": [1],
    "schema": ["podjail.policy/v2", 1, None],
}


def verdicts(schema, document):
    text = json.dumps(document)
    parsed = podjail("check", "-", text=text)
    assert parsed.returncode in (0, 78), parsed.stderr
    return parsed.returncode == 0, schema.is_valid(json.loads(text)), parsed.stderr


def table(cases):
    return [pytest.param(path, value, id=f"{path}={json.dumps(value)[:40]}") for path, values in cases.items() for value in values]


@pytest.mark.parametrize(("path", "value"), table(GOOD))
def test_both_accept(schema, path, value):
    parser, by_schema, stderr = verdicts(schema, nested(path, value))
    assert (parser, by_schema) == (True, True), stderr


@pytest.mark.parametrize(("path", "value"), table(BAD))
def test_both_refuse(schema, path, value):
    parser, by_schema, stderr = verdicts(schema, nested(path, value))
    assert (parser, by_schema) == (False, False), stderr
    assert stderr.startswith("<stdin>:1:")


@pytest.mark.parametrize("document", [{}, [], None, 1, {"limits": {}}], ids=json.dumps)
def test_both_want_a_schema_key(schema, document):
    assert verdicts(schema, document)[:2] == (False, False)


@pytest.mark.parametrize("name", PROFILES)
def test_profiles(schema, name):
    schema.validate(json.loads((POLICIES / f"{name}.json").read_text()))
    shown = podjail("show", name)
    assert shown.returncode == 0, shown.stderr
    effective = json.loads(shown.stdout)
    schema.validate(effective)
    # What is shown is itself a policy, complete, and the same one.
    again = podjail("show", "-", text=shown.stdout)
    assert json.loads(again.stdout) == effective


def test_every_policy_file_is_built_in():
    listed = podjail("list", "--format", "json")
    assert listed.returncode == 0, listed.stderr
    assert [entry["name"] for entry in json.loads(listed.stdout)] == PROFILES


def test_default_has_every_key_of_the_schema(schema):
    effective = json.loads((POLICIES / "default.json").read_text())

    def keys(node, here):
        for name, child in node.get("properties", {}).items():
            if name == "extends":
                continue
            assert name in here, name
            keys(child, here[name])

    keys(schema.schema, effective)
    assert json.loads(podjail("show", "default").stdout) == effective


def test_schemas_are_the_shipped_files():
    for name in ("policy", "result"):
        shown = podjail("schema", name)
        assert shown.stdout == (POLICIES / "schema" / f"{name}.v1.json").read_text()
        jsonschema.Draft202012Validator.check_schema(json.loads(shown.stdout))


# What a schema can't express, by the parser alone.
@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "podjail.policy/v1", "name": "a", "name": "a"}',
        '{"schema": "podjail.policy/v1", "limits": {"wall": NaN}}',
        '{"schema": "podjail.policy/v1", "limits": {"memory": "64Ki"}}',
        '{"schema": "podjail.policy/v1", "limits": {"memory": "8Ei"}}',
        '{"schema": "podjail.policy/v1", "limits": {"stdout": "0.5"}}',
        '{"schema": "podjail.policy/v1", "limits": {"wall": "90000h"}}',
        '{"schema": "podjail.policy/v1", "limits": {"wall": 0.0001}}',
        '{"schema": "podjail.policy/v1", "extends": "nosuch"}',
        '{"schema": "podjail.policy/v1"} trailing',
        '{"schema": "podjail.policy/v1"}\u0000',
        '{"schema": "podjail.policy/v1",}',
        "",
    ],
)
def test_the_parser_is_stricter(text):
    parsed = podjail("check", "-", text=text)
    assert parsed.returncode == 78
    assert parsed.stderr.startswith("<stdin>:1:")


RESULT = {
    "schema": "podjail.result/v1", "status": "timed_out", "retry_safe": False, "reason": "limits.wall", "observed": True, "message": "ran longer than limits.wall (5s)",
    "run": {"id": "r-1", "attempt": 1, "created_at": "2025-01-02T03:04:05.678Z", "started_at": "2025-01-02T03:04:05Z", "finished_at": "2025-01-02T03:04:10Z", "job": None, "pod": None, "pod_uid": None, "node": None},
    "script": {"name": "job.py", "bytes": 120, "sha256": "0" * 64, "function": None, "return_value": None, "return_notes": [], "return_bytes": None, "exit_argument": None,
               "exception": {"type": "ValueError", "message": "x", "traceback": "y", "line": 3}, "stopped_at": {"line": 7, "traceback": "z"}},
    "exit": {"code": None, "signal": "SIGKILL", "supervisor_code": 80},
    "policy": {"name": "default", "sha256": "0" * 64},
    "validation": {"verdict": "accepted", "findings": [{"rule": "PJ101", "name": "forbidden-import", "severity": "error", "message": "m", "hint": None, "line": 1, "column": 1, "end_line": 1, "end_column": 14}]},
    "isolation": {"tier": "T0", "layers": [{"layer": "seccomp", "required": True, "enforced": True, "mechanism": "seccomp-bpf", "reason": None}]},
    "violations": [{"layer": "seccomp", "what": "socket", "detail": "AF_INET, SOCK_STREAM", "action": "EPERM", "count": 3, "first_at": 0.12, "line": None}],
    "limits": {"wall": 5.0, "memory": 268435456},
    "usage": {"wall": 5.003, "user": 4.9, "system": 0.01, "peak_memory": 9400320, "peak_processes": 1, "peak_threads": 1},
    "stdout": {"file": "stdout.log", "bytes": 12, "kept": 12, "dropped": 0, "truncated": False, "sha256": "0" * 64, "text": "…"},
    "stderr": None,
    "artifacts": {"files": [{"path": "plot.png", "bytes": 1, "sha256": "0" * 64}], "refused": [{"path": "link", "reason": "symlink"}]},
    "timings": {"jail": 0.0004, "interpreter": 0.011}, "supervisor": {"version": "0.1.0", "python": "3.11.2", "kernel": "6.1", "landlock_abi": 7}, "signature": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "good"),
    [
        ("status", "timed_out", True),
        ("status", "exploded", False),
        ("reason", "SIGRTMIN+2", True),
        ("reason", "because", False),
        ("reason", None, False),  # a final status that is no success has one
        ("script", None, True),
        ("script.return_value", {"any": ["json", None]}, True),
        ("run.finished_at", None, False),
        ("run.created_at", "yesterday", False),
        ("exit.signal", "KILL", False),
        ("policy.sha256", "abc", False),
        ("stdout.more", 1, False),
        ("usage.io_read", 5, True),
        ("limits.walls", 5, False),
        ("more", 1, False),
    ],
)
def test_result_schema(path, value, good):
    validator = jsonschema.Draft202012Validator(json.loads((POLICIES / "schema" / "result.v1.json").read_text()))
    validator.validate(RESULT)
    document = copy.deepcopy(RESULT)
    *parents, last = path.split(".")
    at = document
    for part in parents:
        at = at[part]
    at[last] = value
    assert validator.is_valid(document) == good


def test_result_schema_wants_every_section():
    validator = jsonschema.Draft202012Validator(json.loads((POLICIES / "schema" / "result.v1.json").read_text()))
    for section in RESULT:
        assert not validator.is_valid({key: value for key, value in RESULT.items() if key != section}), section
