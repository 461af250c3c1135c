"""The command line: every subcommand, its options, its errors; what the contract calls public."""

import json
import os
import pty
import re
import select
import subprocess
import uuid

import jsonschema
import pytest
from harness import PYTHON, ROOT, as_user

OFF = {"validation.enabled": "false", "audit.action": '"off"'}

USAGE_ERRORS = [
    [],
    ["--no-such-option"],
    ["no-such-command"],
    ["run"],
    ["run", "--no-such-option", "x.py"],
    ["run", "--out"],
    ["run", "--exit-code", "sometimes", "x.py"],
    ["run", "--log-format", "xml", "x.py"],
    ["run", "--payload", "p.json", "x.py"],
    ["exec"],
    ["exec", "--"],
    ["exec", "--timeout", "soon", "--", "true"],
    ["exec", "--env", "NOVALUE", "--", "true"],
    ["check"],
    ["check", "--format", "yaml", "x.py"],
    ["explain", "--format", "yaml"],
    ["explain", "extra"],
    ["policy"],
    ["policy", "no-such"],
    ["policy", "schema", "no-such"],
    ["result"],
    ["result", "show"],
    ["stage"],
    ["version", "--format", "yaml"],
]


@pytest.mark.parametrize("argv", USAGE_ERRORS, ids=lambda argv: " ".join(argv) or "nothing")
def test_usage_errors(podjail, argv):
    """64, nothing on stdout, no result, and a text that says what is wrong."""
    outcome = podjail.cli(*argv)
    assert outcome.code == 64, outcome.describe()
    assert outcome.out == b""
    assert len(outcome.text.strip()) > 10
    assert not (podjail.dir / "podjail-out").exists()


@pytest.mark.parametrize("argv", [["--help"], *([name, "--help"] for name in ("run", "exec", "check", "explain", "policy", "result", "stage", "version"))])
def test_help(podjail, argv):
    outcome = podjail.cli(*argv)
    assert outcome.code == 0
    assert b"podjail" in outcome.out or b"Usage" in outcome.out


def test_usage_error_names_the_option(podjail):
    assert "--no-such-option" in podjail.cli("run", "--no-such-option", "x.py").text


# --- version, explain -----------------------------------------------------------------------------------------------------------------------------------


def test_version(podjail):
    text = podjail.cli("version")
    assert text.code == 0
    assert re.search(rb"podjail \d+\.\d+\.\d+", text.out)
    value = json.loads(podjail.cli("version", "--format", "json").out)
    assert re.fullmatch(r"\d+\.\d+\.\d+", value["version"])
    assert value["version"].encode() in text.out


def test_explain(podjail):
    text = podjail.cli("explain")
    assert text.code == 0
    value = json.loads(podjail.cli("explain", "--format", "json").out)
    assert value["tier"] == "T0"
    layers = {row["layer"]: row for row in value["layers"]}
    for name in ("no_new_privs", "seccomp", "landlock.filesystem", "rlimits"):
        assert name in layers
        assert name in text.out.decode()
    assert re.search(rb"\bT0\b", text.out)


def test_explain_says_what_a_policy_asks_for_and_the_machine_lacks(podjail):
    policy = podjail.policy({"isolation": {"require": ["seccomp", "namespaces"]}})
    outcome = podjail.cli("explain", "--policy", policy)
    assert "namespaces" in outcome.out.decode() + outcome.text


# --- policy ---------------------------------------------------------------------------------------------------------------------------------------------


def test_policy_list(podjail):
    outcome = podjail.cli("policy", "list")
    assert outcome.code == 0
    for name in ("default", "strict", "agent"):
        assert re.search(rf"^\s*{name}\b", outcome.out.decode(), re.M), name


def schema(podjail, name):
    value = json.loads(podjail.cli("policy", "schema", *([name] if name != "policy" else [])).out)
    kind = jsonschema.validators.validator_for(value)
    kind.check_schema(value)
    return value, kind(value)


def test_policy_schema_is_the_shipped_one(podjail):
    value, _ = schema(podjail, "policy")
    assert value == json.loads((ROOT / "policies/schema/policy.v1.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["default", "strict", "agent"])
def test_policy_show_is_a_complete_policy(podjail, name):
    """What `show` prints passes the schema and, used as a policy file, is the same policy."""
    shown = podjail.cli("policy", "show", name)
    assert shown.code == 0
    value = json.loads(shown.out)
    _, validator = schema(podjail, "policy")
    assert [error.message for error in validator.iter_errors(value)] == []
    assert "extends" not in value or value["extends"] is None
    file = podjail.write("../shown.json", shown.out)
    assert json.loads(podjail.cli("policy", "show", file).out) == value


@pytest.mark.parametrize("name", ["default", "strict", "agent"])
def test_policy_check_accepts_the_built_ins(podjail, name):
    assert podjail.cli("policy", "check", name).code == 0
    file = podjail.write(f"{name}.json", (ROOT / f"policies/{name}.json").read_bytes())  # a checkout can be closed to the user that podjail runs as
    assert podjail.cli("policy", "check", file).code == 0


BAD_POLICIES = {
    "unknown key": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"memroy": "1Gi"}}', "/limits/memroy", "memory"),
    "duplicate key": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"wall": 1, "wall": 2}}', "/limits/wall", "twice|duplicate"),
    "NaN": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"wall": NaN}}', "", ""),
    "negative": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"wall": -1}}', "/limits/wall", ""),
    "zero": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"memory": 0}}', "/limits/memory", "null|zero|0"),
    "overflow": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"memory": 99999999999999999999}}', "/limits/memory", ""),
    "wrong unit": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"memory": "512MB"}}', "/limits/memory", "512M"),
    "wrong type": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"threads": "many"}}', "/limits/threads", ""),
    "fraction": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"threads": 1.5}}', "/limits/threads", ""),
    "relative path": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "filesystem": {"read": ["data"]}}', "/filesystem/read/0", "absolute"),
    "bad port": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "network": {"connect_tcp": [70000]}}', "/network/connect_tcp/0", ""),
    "unknown schema": ('{"schema": "podjail.policy/v9", "name": "x"}', "/schema", "podjail.policy/v1"),
    "unknown base": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "defualt"}', "/extends", "default"),
    "null where no null": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default", "limits": {"grace": null}}', "/limits/grace", ""),
    "trailing text": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default"} x', "", ""),
    "trailing comma": ('{"schema": "podjail.policy/v1", "name": "x", "extends": "default",}', "", ""),
    "not an object": ("[]", "", "object"),
    "empty": ("", "", ""),
}


@pytest.mark.parametrize("kind", BAD_POLICIES)
def test_bad_policies(podjail, kind):
    """policy check and run say the same: pointer, line and column; exit 78."""
    text, pointer, hint = BAD_POLICIES[kind]
    text = text.replace(', "', ',\n "')
    file = podjail.write("../bad.json", text)
    checked = podjail.cli("policy", "check", file)
    assert checked.code == 78, checked.describe()
    said = checked.text + checked.out.decode()
    assert re.search(r"bad\.json:\d+:\d+", said), said
    assert pointer in said
    assert re.search(hint, said), said
    outcome = podjail.run("print('RAN')\n", policy=file).expect("invalid_policy")
    assert outcome.out == b""
    assert pointer in outcome.result["message"]


def test_policy_file_that_is_not_there(podjail):
    outcome = podjail.run("pass\n", policy=podjail.dir / "nowhere.json").expect("invalid_policy")
    assert "nowhere.json" in outcome.result["message"]


def test_policy_extends_a_file_beside_it(podjail):
    podjail.policy({"name": "base", "limits": {"wall": "7s"}}, "base.json")
    child = podjail.write("../child.json", json.dumps({"schema": "podjail.policy/v1", "name": "child", "extends": "./base.json", "limits": {"cpu": "3s"}}))
    outcome = podjail.run("pass\n", policy=child).expect("succeeded")
    assert (outcome.get("policy.name"), outcome.get("limits.wall"), outcome.get("limits.cpu")) == ("child", 7.0, 3.0)


def test_policy_extends_cycle(podjail):
    podjail.write("../a.json", json.dumps({"schema": "podjail.policy/v1", "name": "a", "extends": "./b.json"}))
    b = podjail.write("../b.json", json.dumps({"schema": "podjail.policy/v1", "name": "b", "extends": "./a.json"}))
    podjail.run("pass\n", policy=b).expect("invalid_policy")


@pytest.mark.parametrize(("value", "shown"), [("limits.wall=5s", 5.0), ("limits.wall=2.5", 2.5), ("limits.wall=1m30s", 90.0), ('limits.wall="500ms"', 0.5), ("limits.wall=null", None)])
def test_set(podjail, value, shown):
    outcome = podjail.run("pass\n", options=["--set", value]).expect("succeeded")
    assert outcome.get("limits.wall") == shown


@pytest.mark.parametrize("value", ["limits.wall=-1", "limits.wal=5s", "limits.memory=12MB", "nothing.at.all=1", "limits={}x", "limits.wall"])
def test_bad_set(podjail, value):
    outcome = podjail.run("print('RAN')\n", options=["--set", value]).expect("invalid_policy")
    assert value.split("=")[0].split(".")[-1] in outcome.result["message"]
    assert outcome.out == b""


def test_the_later_set_wins(podjail):
    outcome = podjail.run("pass\n", options=["--set", "limits.wall=5s", "--set", "limits.wall=6s"])
    assert outcome.get("limits.wall") == 6.0


# --- run ------------------------------------------------------------------------------------------------------------------------------------------------


def test_out_defaults_to_podjail_out(podjail):
    outcome = podjail.cli("run", podjail.write("script.py", "print(1)\n"))
    assert outcome.expect("succeeded").out == b"1\n"
    assert (podjail.dir / "podjail-out/stdout.log").read_bytes() == b"1\n"


def test_summary_on_stderr(podjail):
    """By hand: the script's output live, and one line of summary on stderr that names status and result."""
    outcome = podjail.cli("run", podjail.write("script.py", "print(1)\n"))
    assert outcome.out == b"1\n"
    assert "succeeded" in outcome.text.strip().splitlines()[-1]
    outcome = podjail.cli("run", "--out", podjail.dir / "o2", podjail.write("script.py", "import sys\nsys.exit(3)\n"), folder=podjail.dir / "o2")
    assert "failed" in outcome.text.strip().splitlines()[-1]


def test_quiet_leaves_stderr_to_the_script(podjail):
    outcome = podjail.run("import sys\nprint('mine', file=sys.stderr)\n").expect("succeeded")
    assert outcome.err == b"mine\n"


def test_log_format_json(podjail):
    outcome = podjail.cli("run", "--log-format", "json", podjail.write("script.py", "print(1)\n"))
    assert outcome.out == b"1\n"
    lines = [json.loads(line) for line in outcome.text.splitlines()]
    assert lines and all(isinstance(line, dict) for line in lines)


def test_run_id(podjail):
    first = podjail.run("pass\n").get("run.id")
    second = podjail.run("pass\n").get("run.id")
    assert first != second
    assert uuid.UUID(first).version == 4
    assert podjail.run("pass\n", options=["--run-id", "task-7.attempt-1"]).get("run.id") == "task-7.attempt-1"


@pytest.mark.claim("C-14")
def test_a_final_result_of_the_same_id_is_not_run_again(podjail):
    out = podjail.out()
    script = podjail.write("script.py", "import sys\nprint('ran')\nsys.exit(3)\n")
    first = podjail.run(script, options=["--run-id", "once"], out=out).expect("failed", code=3)
    record = (out / "result.json").read_bytes()
    again = podjail.run(script, options=["--run-id", "once"], out=out)
    assert (again.code, again.out) == (first.code, b"")
    assert (out / "result.json").read_bytes() == record


def test_script_from_stdin(podjail):
    outcome = podjail.cli("run", "--quiet", "--out", podjail.dir / "o", "-", "a", input=b"import sys\nprint(__name__, sys.argv[1:])\n1/0\n", folder=podjail.dir / "o")
    outcome.expect("failed", "exception", code=1)
    assert outcome.out == b"__main__ ['a']\n"
    assert "line 3" in outcome.stderr
    assert "1/0" in outcome.stderr


def test_function_and_payload(podjail):
    script = podjail.write("script.py", "print('loaded', __name__)\ndef handler(payload):\n    print('called')\n    return {'got': payload}\n")
    payload = podjail.write("../payload.json", '{"x": [1, 2.5, null, "ü"]}')
    outcome = podjail.run(script, options=["--function", "handler", "--payload", payload]).expect("succeeded", code=0)
    assert outcome.get("script.return_value") == {"got": {"x": [1, 2.5, None, "ü"]}}
    assert outcome.get("script.function") == "handler"
    assert b"called\n" in outcome.stdout


def test_payload_from_stdin(podjail):
    out = podjail.out()
    script = podjail.write("script.py", "def handler(payload):\n    return payload['n'] * 2\n")
    outcome = podjail.cli("run", "--quiet", "--out", out, "--function", "handler", "--payload", "-", script, input=b'{"n": 21}', folder=out)
    assert outcome.expect("succeeded").get("script.return_value") == 42


@pytest.mark.parametrize("body", ["return {1, 2}", "return object()", "return float('nan')", "return {'a': b'x'}", "return {1: 1, '1': 2}"])
def test_return_values_that_json_cannot_hold(podjail, body):
    script = podjail.write("script.py", f"def handler(payload):\n    {body}\n")
    payload = podjail.write("../payload.json", "{}")
    outcome = podjail.run(script, options=["--function", "handler", "--payload", payload]).expect("failed")
    assert outcome.result["reason"].startswith("return_value"), outcome.describe()


@pytest.mark.parametrize("value", ["None", "0", "''", "[]", "False", "1.5", "'ü'", "{'a': [1, {'b': None}]}"])
def test_return_values_that_it_can(podjail, value):
    script = podjail.write("script.py", f"async def handler(payload):\n    return {value}\n")
    payload = podjail.write("../payload.json", "null")
    outcome = podjail.run(script, options=["--function", "handler", "--payload", payload]).expect("succeeded", code=0)
    assert outcome.get("script.return_value") == eval(value)


@pytest.mark.parametrize("text", ["{", "", '{"a": 1} x', "NaN"])
def test_a_payload_that_is_no_json(podjail, text):
    script = podjail.write("script.py", "def handler(payload):\n    print('RAN')\n")
    payload = podjail.write("../payload.json", text)
    outcome = podjail.run(script, options=["--function", "handler", "--payload", payload]).expect("invalid_input")
    assert "payload" in outcome.result["message"]
    assert outcome.out == b""


def test_stdin_is_empty_unless_asked_for(podjail):
    script = podjail.write("script.py", "import sys\nprint(repr(sys.stdin.read()))\n")
    out = podjail.out()
    outcome = podjail.cli("run", "--quiet", "--out", out, script, input=b"unseen", folder=out)
    assert outcome.out == b"''\n"
    assert podjail.run(script, input=b"seen").out == b"'seen'\n"


@pytest.mark.parametrize(
    ("mode", "source", "code"),
    [
        ("status", "import sys; sys.exit(7)", 1),
        ("command", "import sys; sys.exit(7)", 7),
        ("command", "pass", 0),
        ("command", "import os; os.kill(os.getpid(), 9)", 128 + 9),
        ("command", "import sys; sys.exit(", 65),
        ("supervisor", "import sys; sys.exit(7)", 0),
        ("supervisor", "import os; os.kill(os.getpid(), 9)", 0),
        ("supervisor", "import sys; sys.exit(", 0),
    ],
)
def test_exit_code_modes(podjail, mode, source, code):
    outcome = podjail.run(source + "\n", options=["--exit-code", mode], sets=OFF)
    assert outcome.code == code, outcome.describe()


def test_exit_code_command_with_a_limit(podjail):
    """Where the script did not come to its own end, the documented code stands."""
    outcome = podjail.run("while True: pass\n", options=["--exit-code", "command"], sets={"limits.wall": "500ms", "limits.grace": "100ms"})
    assert (outcome.status, outcome.code) == ("timed_out", 80)


ENVIRONMENT = [
    ("PODJAIL_SET", "limits.wall=9s", "limits.wall", 9.0),
    ("PODJAIL_RUN_ID", "from-env", "run.id", "from-env"),
    ("PODJAIL_POLICY", "strict", "policy.name", "strict"),
]


@pytest.mark.parametrize(("name", "value", "path", "shown"), ENVIRONMENT, ids=[row[0] for row in ENVIRONMENT])
def test_options_from_the_environment(podjail, name, value, path, shown):
    assert podjail.run("pass\n", env={name: value}).get(path) == shown


def test_argv_wins_over_the_environment(podjail):
    assert podjail.run("pass\n", options=["--run-id", "argv"], env={"PODJAIL_RUN_ID": "env"}).get("run.id") == "argv"


def test_out_and_quiet_from_the_environment(podjail):
    out = podjail.out()
    outcome = podjail.cli("run", podjail.write("s.py", "print(1)\n"), env={"PODJAIL_OUT": str(out), "PODJAIL_QUIET": "1"}, folder=out)
    assert outcome.expect("succeeded").err == b""


def test_function_and_stdin_from_the_environment(podjail):
    out = podjail.out()
    script = podjail.write("s.py", "import sys\ndef f(p):\n    return [p, sys.stdin.read()]\n")
    payload = podjail.write("../payload.json", "5")
    env = {"PODJAIL_OUT": str(out), "PODJAIL_FUNCTION": "f", "PODJAIL_PAYLOAD": str(payload), "PODJAIL_STDIN": "1", "PODJAIL_EXIT_CODE": "supervisor"}
    outcome = podjail.cli("run", script, env=env, input=b"in", folder=out)
    assert outcome.get("script.return_value") == [5, "in"]


def test_bad_environment_value(podjail):
    outcome = podjail.cli("run", podjail.write("s.py", ""), env={"PODJAIL_EXIT_CODE": "sometimes"})
    assert outcome.code == 64
    assert "PODJAIL_EXIT_CODE" in outcome.text or "exit-code" in outcome.text


# --- what the script finds ------------------------------------------------------------------------------------------------------------------------------


def test_work_folder_and_environment(podjail):
    source = (
        "import json, os, tempfile\n"
        "folders = {n: [os.path.isdir(os.environ[n]), os.access(os.environ[n], os.W_OK)] for n in ('HOME', 'TMPDIR', 'PODJAIL_OUTPUT_DIR')}\n"
        "print(json.dumps({'env': dict(os.environ), 'cwd': os.getcwd(), 'list': os.listdir(), 'w': os.access('.', os.W_OK), 'folders': folders,\n"
        "  'out': os.path.samefile('output', os.environ['PODJAIL_OUTPUT_DIR']), 'tmp': tempfile.gettempdir() == os.environ['TMPDIR']}))\n"
    )
    outcome = podjail.run(source, env={"SECRET_TOKEN": "hunter2", "PYTHONPATH": "/evil", "LD_PRELOAD": "", "TZ": "Asia/Tokyo"}).expect("succeeded")
    seen = json.loads(outcome.out)
    assert seen["w"] and seen["out"] and seen["tmp"]
    assert set(seen["list"]) <= {"output"}
    assert all(all(values) for values in seen["folders"].values()), seen["folders"]
    assert "hunter2" not in outcome.out.decode()
    assert not [name for name in seen["env"] if name.startswith("PYTHON") or name in ("SECRET_TOKEN", "LD_PRELOAD")]
    assert seen["env"]["TZ"] == "Asia/Tokyo"
    assert not seen["cwd"].startswith(str(podjail.dir / "in"))


def test_policy_environment(podjail):
    policy = podjail.policy({"environment": {"pass": ["KEEP_*", "ONE"], "set": {"GIVEN": "value ü"}}})
    source = "import os\nprint([os.environ.get(n) for n in ('KEEP_A', 'KEEP_B', 'ONE', 'TWO', 'GIVEN')])\n"
    outcome = podjail.run(source, policy=policy, env={"KEEP_A": "a", "KEEP_B": "b", "ONE": "1", "TWO": "2"})
    assert outcome.out.decode() == "['a', 'b', '1', None, 'value ü']\n"


@pytest.mark.claim("C-06")
def test_no_descriptor_leaks_into_the_script(podjail):
    """What podjail had open, and what its caller left open, stays outside."""
    secret = podjail.write("../secret.txt", "secret")
    script = podjail.write("script.py", "import os\nprint(sorted(os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in os.listdir('/proc/self/fd') if os.path.lexists(f'/proc/self/fd/{n}')))\n")
    out = podjail.out()
    with open(secret) as leaked:
        command = [*as_user(), str(podjail.binary), "run", "--quiet", "--out", str(out), "--set", "validation.enabled=false", str(script)]
        done = subprocess.run(command, capture_output=True, pass_fds=[leaked.fileno()], env=podjail.environment(), cwd=podjail.dir)
    seen = eval(done.stdout)
    assert not [name for name in seen if "secret" in name or "memfd" in name or "socket" in name or name.startswith(str(podjail.dir / "out"))], seen
    assert len(seen) <= 5, seen  # three streams, the report pipe, the folder being listed


def test_input_folder(podjail):
    podjail.write("task/data/rows.csv", "a,b\n1,2\n")
    podjail.write("task/helper.py", "NAME = 'helper'\n")
    script = podjail.write(
        "task/main.py",
        "import os, helper\nfrom pathlib import Path\nd = Path(os.environ['PODJAIL_INPUT_DIR'])\n"
        "print(helper.NAME, (d / 'data/rows.csv').read_text().split(), Path('data/rows.csv').exists())\n"
        "try:\n    (d / 'new').write_text('x')\nexcept OSError as e:\n    print(type(e).__name__)\n",
    )
    outcome = podjail.run(script, options=["--input", script.parent]).expect("succeeded")
    assert outcome.stdout.decode().splitlines()[0] == "helper ['a,b', '1,2'] True"
    assert outcome.stdout.decode().splitlines()[1] in ("PermissionError", "OSError")


def test_input_elsewhere(podjail):
    data = podjail.write("data/rows.csv", "1\n").parent
    outcome = podjail.run("print(open('rows.csv').read())\n", options=["--input", data]).expect("succeeded")
    assert outcome.stdout == b"1\n\n"


def test_every_python_file_of_the_input_is_validated(podjail):
    podjail.write("task/sub/helper.py", "import socket\n")
    script = podjail.write("task/main.py", "print('RAN')\n")
    outcome = podjail.run(script, options=["--input", script.parent], sets={"validation.imports.deny": ["socket"]}).expect("rejected", "forbidden")
    assert "helper.py" in json.dumps(outcome.get("validation.findings")) + outcome.result["message"]


def test_a_missing_neighbour_gets_a_hint(podjail):
    podjail.write("neighbour.py", "")
    outcome = podjail.run("import neighbour\n").expect("failed", "exception", code=1)
    assert "--input" in outcome.result["message"] + outcome.stderr


def test_input_that_is_not_there(podjail):
    outcome = podjail.run("pass\n", options=["--input", podjail.dir / "nowhere"]).expect("invalid_input")
    assert "nowhere" in outcome.result["message"]


# --- artifacts ------------------------------------------------------------------------------------------------------------------------------------------


def test_artifacts(podjail):
    source = "import os\nfrom pathlib import Path\nd = Path(os.environ['PODJAIL_OUTPUT_DIR'])\n(d / 'a.txt').write_text('A')\n(d / 'sub').mkdir()\n(d / 'sub/b.bin').write_bytes(bytes(1000))\nPath('output/c').touch()\n"
    outcome = podjail.run(source).expect("succeeded")
    assert {file["path"]: file["bytes"] for file in outcome.get("artifacts.files")} == {"a.txt": 1, "sub/b.bin": 1000, "c": 0}
    assert outcome.get("artifacts.refused") == []
    assert (outcome.folder / "artifacts/sub/b.bin").read_bytes() == bytes(1000)


@pytest.mark.claim("C-05")
def test_artifacts_that_are_no_plain_files(podjail):
    secret = podjail.write("../secret.txt", "secret")
    source = (
        f"import os\nos.chdir('output')\nos.symlink({str(secret)!r}, 'link')\nos.symlink('..', 'up')\nos.mkfifo('fifo')\n"
        "os.mkdir('d')\nos.symlink('/etc', 'd/etc')\nopen('fine', 'w').write('x')\n"
    )
    outcome = podjail.run(source, sets=OFF).expect("succeeded")
    assert [file["path"] for file in outcome.get("artifacts.files")] == ["fine"]
    assert {(entry["path"], entry["reason"]) for entry in outcome.get("artifacts.refused")} == {
        ("link", "symlink"),
        ("up", "symlink"),
        ("d/etc", "symlink"),
        ("fifo", "fifo"),
    }


def test_artifacts_of_a_failed_run_are_kept(podjail):
    outcome = podjail.run("open('output/partial.txt', 'w').write('half')\n1/0\n").expect("failed")
    assert [file["path"] for file in outcome.get("artifacts.files")] == ["partial.txt"]


def test_too_many_and_too_large_artifacts(podjail):
    source = "for i in range(10):\n    open(f'output/{i}', 'w').write('x' * 100)\nopen('output/large', 'w').write('x' * 5000)\n"
    outcome = podjail.run(source, sets={"limits.artifact_files": 4})
    assert len(outcome.get("artifacts.files")) == 4
    assert len(outcome.get("artifacts.refused")) == 7
    outcome = podjail.run(source, sets={"limits.artifact_bytes": "1000"})
    assert sum(file["bytes"] for file in outcome.get("artifacts.files")) <= 1000
    assert "large" in [entry["path"] for entry in outcome.get("artifacts.refused")]


def test_totals_count_the_refused_artifacts_that_the_list_leaves_out(podjail):
    source = "import os\nfor i in range(3000):\n    open(f'output/{i:04}', 'w').close()\nos.symlink('x', 'output/zz')\n"
    outcome = podjail.run(source).expect("succeeded")
    assert outcome.get("artifacts.totals") == {"found": 3001, "kept": 256, "refused": 2745, "complete": True}
    assert len(outcome.get("artifacts.refused")) == 1000
    assert b"and 1745 more" in podjail.cli("result", "show", outcome.folder / "result.json").out
    loud = podjail.cli("run", podjail.write("s.py", source))
    assert ", 2745 artifacts refused (limits.artifact_files, symlink) (" in loud.text


def test_totals_of_a_run_without_artifacts(podjail):
    assert podjail.run("print(1)\n").get("artifacts.totals") == {"found": 0, "kept": 0, "refused": 0, "complete": True}


@pytest.mark.parametrize("validation", [True, False])
@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [(b"a = 1\nb = 2\nx = '\xc3\xa9\0'\n", "nul_byte", 3, 7), (b"x = 1\n# caf\xe9\n", "invalid_utf8", 2, 6), (b"# coding: utf-7\n", "source_encoding", 1, 11)],
)
def test_what_is_no_python_text_says_its_line(podjail, text, reason, line, column, validation):
    script = podjail.write("script.py", text)
    outcome = podjail.run(script, sets={"validation.enabled": validation}).expect("invalid_input", reason=reason)
    (finding,) = outcome.get("validation.findings")
    assert (finding["rule"], finding["line"], finding["column"], finding["file"]) == ("PJ005", line, column, "script.py")
    (checked,) = json.loads(podjail.cli("check", "--format", "json", script).out)["files"]
    assert [(f["line"], f["column"]) for f in checked["findings"]] == [(line, column)]
    region = json.loads(podjail.cli("check", "--format", "sarif", script).out)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (line, column)


def test_a_nul_in_a_neighbour_says_its_file_and_line(podjail):
    podjail.write("task/mod.py", b"x = 1\n\0\n")
    script = podjail.write("task/main.py", "import mod\n")
    outcome = podjail.run(script, options=["--input", podjail.dir / "in/task"]).expect("invalid_input", reason="nul_byte")
    assert [(f["file"], f["line"]) for f in outcome.get("validation.findings")] == [("mod.py", 2)]
    assert outcome.result["message"].startswith("mod.py: ") and "line 2" in outcome.result["message"]


# --- result show ----------------------------------------------------------------------------------------------------------------------------------------


def test_result_show(podjail):
    outcome = podjail.run("print('some output')\nraise ValueError('bad row 17')\n")
    shown = podjail.cli("result", "show", outcome.folder / "result.json")
    assert shown.code == 0
    for text in ("failed", "ValueError", "bad row 17", "some output", "line 2"):
        assert text in shown.out.decode(), text
    assert podjail.cli("result", "show", outcome.folder).code in (0, 66)


def test_result_show_of_a_violation(podjail):
    outcome = podjail.run("import socket\nsocket.socket()\n", sets=OFF)
    assert "socket" in podjail.cli("result", "show", outcome.folder / "result.json").out.decode()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other/v1"}', "\0"])
def test_result_show_of_something_else(podjail, text):
    shown = podjail.cli("result", "show", podjail.write("../r.json", text))
    assert shown.code not in (0, 1), shown.describe()
    assert "r.json" in shown.text


def on_a_terminal(podjail, *argv):
    """stdout of podjail on a pseudo terminal."""
    master, slave = pty.openpty()
    process = podjail.start(*argv, stdout=slave)
    os.close(slave)
    data = b""
    while select.select([master], [], [], 10)[0]:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        data += chunk
    os.close(master)
    podjail.finish(process)
    return data


def test_result_show_neutralises_escapes(podjail):
    """On a terminal a script's output and message can't move the cursor or set the title."""
    hostile = "\x1b]0;title\x07\x1b[2J\x9b31m"
    outcome = podjail.run(f"print({hostile!r})\nraise ValueError({hostile!r})\n")
    assert b"\x1b]0;" in outcome.out  # live output is passed on as it is
    shown = on_a_terminal(podjail, "result", "show", str(outcome.folder / "result.json"))
    assert b"ValueError" in shown
    for bad in (b"\x1b]", b"\x1b[2J", b"\x07", "\x9b".encode()):
        assert bad not in shown


# --- check ----------------------------------------------------------------------------------------------------------------------------------------------


def test_check_accepts(podjail):
    outcome = podjail.cli("check", podjail.write("fine.py", "print(1)\n"))
    assert outcome.code == 0, outcome.describe()


def test_check_shows_line_and_caret(podjail):
    outcome = podjail.cli("check", podjail.write("bad.py", 'x = 1\nprint("größer als", 1 +* 2)\n'))
    assert outcome.code == 65
    text = outcome.out.decode()
    assert "bad.py:2:24" in text
    assert "invalid syntax" in text
    lines = text.splitlines()
    shown = next(i for i, line in enumerate(lines) if "größer" in line)
    assert lines[shown + 1].index("^") - lines[shown].index("print") == 23


def test_check_json(podjail):
    podjail.write("app/fine.py", "print(1)\n")
    podjail.write("app/sub/bad.py", "def f(:\n    pass\n")
    podjail.write("app/nul.py", b"x = '\0'\n")
    podjail.write("app/notes.txt", "not python (\n")
    outcome = podjail.cli("check", "--format", "json", podjail.dir / "in/app")
    assert outcome.code in (65, 66)
    files = {os.path.basename(entry["path"]): entry for entry in json.loads(outcome.out)["files"]}
    assert set(files) == {"fine.py", "bad.py", "nul.py"}
    assert files["fine.py"]["verdict"] == "accepted" and files["fine.py"]["findings"] == []
    assert files["bad.py"]["verdict"] == "rejected"
    assert files["bad.py"]["findings"][0]["line"] == 1
    assert files["nul.py"]["verdict"] == "invalid_input"


def test_check_sarif(podjail):
    outcome = podjail.cli("check", "--format", "sarif", podjail.write("bad.py", "def f(:\n    pass\n"))
    assert outcome.code == 65
    value = json.loads(outcome.out)
    assert value["version"] == "2.1.0"
    run = value["runs"][0]
    assert run["tool"]["driver"]["name"] == "podjail"
    finding = run["results"][0]
    assert finding["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert finding["ruleId"] in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert finding["level"] == "error"


def test_check_stdin(podjail):
    assert podjail.cli("check", "-", input=b"print(1)\n").code == 0
    assert podjail.cli("check", "-", input=b"print(\n").code == 65


def test_check_with_a_policy(podjail):
    script = podjail.write("s.py", "import socket\n")
    policy = podjail.policy({"validation": {"imports": {"deny": ["socket"]}}})
    outcome = podjail.cli("check", "--policy", policy, script)
    assert outcome.code == 65
    assert "PJ101" in outcome.out.decode()


def test_check_of_nothing(podjail):
    outcome = podjail.cli("check", podjail.dir / "in/nowhere.py")
    assert outcome.code not in (0, 65)
    assert "nowhere.py" in outcome.text + outcome.out.decode()


def test_check_never_runs_the_file(podjail):
    marker = podjail.dir / "home/ran"
    podjail.cli("check", podjail.write("s.py", f"open({str(marker)!r}, 'w')\n"))
    assert not marker.exists()


def test_check_of_many_files(podjail):
    for number in range(60):
        podjail.write(f"many/m{number:02}.py", f"x = {number}\n" if number != 41 else "x = =\n")
    outcome = podjail.cli("check", podjail.dir / "in/many")
    assert outcome.code == 65
    assert "m41.py:1:5" in outcome.out.decode()


# --- exec -----------------------------------------------------------------------------------------------------------------------------------------------


def test_exec(podjail):
    outcome = podjail.exec("/bin/echo", "a  b", "ü").expect("succeeded", code=0)
    assert outcome.out == "a  b ü\n".encode()


def test_exec_finds_the_command_on_the_path(podjail):
    assert podjail.exec("echo", "hi").expect("succeeded").out == b"hi\n"


def test_exec_exit_code_and_signal(podjail):
    policy = podjail.policy({"extends": "agent"})
    podjail.exec("/bin/sh", "-c", "exit 7", policy=policy).expect("failed", "exit_code", code=7)
    assert podjail.exec("/bin/sh", "-c", "exit 7", policy=policy, options=["--exit-code", "command"]).code == 7
    podjail.exec("/bin/sh", "-c", "kill -SEGV $$", policy=policy).expect("killed", "SIGSEGV")


def test_exec_of_nothing(podjail):
    outcome = podjail.exec("/no/such/command")
    assert outcome.status in ("invalid_input", "failed"), outcome.describe()
    assert "/no/such/command" in outcome.result["message"]


def test_exec_workdir_env_timeout(podjail):
    folder = podjail.dir / "work"
    folder.mkdir()
    podjail.own(folder)
    policy = podjail.policy({"extends": "agent", "filesystem": {"read": [str(folder)], "write": [str(folder)]}})
    outcome = podjail.exec("/bin/sh", "-c", 'pwd; echo "$A"', options=["--workdir", folder, "--env", "A=1=2 ü"], policy=policy).expect("succeeded")
    assert outcome.out.decode() == f"{folder}\n1=2 ü\n"
    outcome = podjail.exec("/bin/sleep", "30", options=["--timeout", "500ms"], sets={"limits.grace": "200ms"}).expect("timed_out", "limits.wall")
    assert outcome.seconds < 5


def test_exec_stdin(podjail):
    assert podjail.exec("/bin/cat", input=b"through\0me").expect("succeeded").out == b"through\0me"
    assert podjail.exec("/bin/cat").expect("succeeded").out == b""


@pytest.mark.claim("C-01")
def test_exec_is_jailed(podjail):
    secret = podjail.write("../secret.txt", "secret")
    outcome = podjail.exec("/bin/cat", secret).expect("failed", "exit_code", code=1)
    assert "Permission denied" in outcome.stderr
    outcome = podjail.exec(PYTHON, "-c", "import socket; socket.socket()").expect("failed", code=1)
    assert "PermissionError" in outcome.stderr


@pytest.mark.claim("C-08")
def test_exec_cannot_start_a_second_process_under_default(podjail):
    outcome = podjail.exec("/bin/sh", "-c", "/bin/true; echo THROUGH")
    assert b"THROUGH" not in outcome.out or outcome.status != "succeeded", outcome.describe()


def test_exec_pipeline_under_agent(podjail):
    outcome = podjail.exec("/bin/sh", "-c", "printf 'b\\na\\n' | sort | head -n 1", policy="agent").expect("succeeded", code=0)
    assert outcome.out == b"a\n"


# --- what podjail says itself ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["rnu"], "unknown command 'rnu' (did you mean run?)"),
        (["policy", "shwo"], "unknown command 'shwo' (did you mean show?)"),
        (["hold"], "unknown command 'hold'"),
        (["result", "verify", "x"], "unknown command 'verify'"),
        (["run", "--polcy=x", "x.py"], "unknown option --polcy (did you mean --policy?); options come before SCRIPT"),
        (["exec", "--timeuot", "1s", "--", "x"], "unknown option --timeuot (did you mean --timeout?); options come before COMMAND"),
        (["check", "--formt", "json", "x.py"], "unknown option --formt (did you mean --format?)"),
        (["explain", "extra"], "unexpected argument 'extra'"),
        (["run", "--exit-code", "sometimes", "x.py"], "--exit-code"),
        (["a\x1b]0;t\x07\nb"], r"'a\x1b]0;t\x07\nb'"),
    ],
)
def test_usage_errors_are_one_line_of_podjails_own(podjail, argv, said):
    outcome = podjail.cli(*argv)
    assert (outcome.code, outcome.out) == (64, b"")
    assert outcome.text.startswith("podjail: ") and outcome.text.count("\n") == 1
    assert said in outcome.text


def test_version_option(podjail):
    assert podjail.cli("--version").out == podjail.cli("version").out


HOSTILE = "a\x1b[2J\nb\x9bc\x07"


def test_summary_is_one_harmless_line(podjail):
    script = podjail.write("s.py", f"raise ValueError({HOSTILE!r} + 'x' * 5000)\n")
    outcome = podjail.cli("run", script).expect("failed")
    last = outcome.text.splitlines()[-1]
    assert last.startswith("podjail: failed after ")
    assert r"a\x1b[2J\nb\x9bc\x07xxx" in last and "x…" in last
    assert len(last) < 800
    outcome = podjail.cli("run", "--log-format", "json", script)
    assert outcome.text.splitlines()[-1].isascii()


def test_summary_counts_refused_artifacts(podjail):
    outcome = podjail.cli("run", podjail.write("s.py", "import os\nos.mkfifo('output/a')\nos.mkfifo('output/b')\nos.symlink('a', 'output/c')\n"))
    assert "podjail: succeeded after " in outcome.text
    assert ", 3 artifacts refused (fifo, symlink) (" in outcome.text


def test_summary_starts_on_a_fresh_line(podjail):
    script = podjail.write("s.py", "import sys\nsys.stderr.write(sys.argv[1])\n")
    assert podjail.cli("run", script, "open").text.startswith("open\npodjail: ")
    assert podjail.cli("run", script, "ended\n").text.startswith("ended\npodjail: ")
    assert podjail.cli("run", "--log-level", "error", script, "open").text == "open"


@pytest.mark.parametrize("argv", ["version", "--help", "explain", "policy show", "policy list", "policy check", "policy schema"])
def test_stdout_that_cannot_be_written(podjail, argv):
    with open("/dev/full", "wb") as full:
        outcome = podjail.cli(*argv.split(), stdout=full)
    assert outcome.code == 73, outcome.describe()
    assert "stdout can't be written" in outcome.text


def test_closed_standard_streams(podjail):
    """No file of podjail's gets the number 0, 1 or 2."""
    script = podjail.write("s.py", "import sys\nprint('out', repr(sys.stdin.read()))\nprint('err', file=sys.stderr)\n")
    for number, (closed, argv) in enumerate([("<&-", "-"), ("<&- >&- 2>&-", script), ("<&- >&-", f"--stdin {script}")]):
        out = podjail.dir / f"closed{number}"
        command = [*as_user(), "/bin/sh", "-c", f"exec {podjail.binary} run --out {out} {argv} {closed}"]
        done = subprocess.run(command, capture_output=True, env=podjail.environment(), cwd=podjail.dir)
        record = json.loads((out / "result.json").read_bytes())
        if argv == "-":
            assert (record["status"], "stdin: Bad file descriptor" in record["message"]) == ("invalid_input", True)
        else:
            assert (done.returncode, (out / "stdout.log").read_bytes(), (out / "stderr.log").read_bytes()) == (0, b"out ''\n", b"err\n")


def test_repeatable_options_from_the_environment(podjail):
    variables = {"PODJAIL_SET": "limits.wall=9s\n\nlimits.grace=2s\n", "PODJAIL_ENV": "A=1\nB=2 3"}
    outcome = podjail.exec("/usr/bin/env", env=variables, options=["--set", "limits.cpu=8s"]).expect("succeeded")
    assert (outcome.get("limits.wall"), outcome.get("limits.cpu")) == (60.0, 8.0), "argv wins"
    assert {b"A=1", b"B=2 3"} <= set(outcome.out.splitlines())
    out = podjail.out()
    outcome = podjail.cli("exec", "--out", out, "--env", "A=one\ntwo", "--", "/usr/bin/env", env=variables, folder=out).expect("succeeded")
    assert (outcome.get("limits.wall"), outcome.get("limits.grace")) == (9.0, 2.0)
    assert b"A=one\ntwo\n" in outcome.out and b"B=2 3" not in outcome.out


def test_variables_are_of_the_subcommands_that_have_them(podjail):
    assert json.loads(podjail.cli("policy", "show", "default", env={"PODJAIL_POLICY": "strict", "PODJAIL_SET": "limits.wall=9s"}).out)["name"] == "default"


def test_misspelt_variables(podjail):
    script = podjail.write("s.py", "")
    other = {"PODJAIL_JOB": "j", "PODJAIL_POD_UID": "u", "PODJAIL_SCRATCH": str(podjail.dir / "tmp"), "PODJAIL_PORT": "tcp://10.0.0.1:80", "PODJAIL_ENV": "A=b"}
    outcome = podjail.cli("run", script, env={"PODJAIL_RUNID": "x", **other})
    assert [line for line in outcome.text.splitlines() if "PODJAIL_" in line] == ["podjail: PODJAIL_RUNID is no variable that podjail run reads (did you mean PODJAIL_RUN_ID?)"]
    assert "PODJAIL_POLICY?" in podjail.cli("check", script, env={"PODJAIL_POLCY": "strict"}).text
    assert podjail.run("pass\n", env={"PODJAIL_RUNID": "x"}).text == ""


@pytest.mark.parametrize("command", ["check", "show"])
def test_policy_with_an_unknown_system_call(podjail, command):
    policy = podjail.policy({"syscalls": {"allow": ["opneat"]}})
    outcome = podjail.cli("policy", command, policy)
    assert (outcome.code, outcome.out) == (78, b"")
    assert "policy.json" in outcome.text and "syscalls.allow" in outcome.text and "openat" in outcome.text


def test_explain_lists_each_path_once(podjail):
    policy = podjail.policy({"filesystem": {"read": ["/usr", "/proc/meminfo"], "write": ["/srv"], "execute": ["/srv"]}})
    paths = {entry["path"]: entry["access"] for entry in json.loads(podjail.cli("explain", "--policy", policy, "--format", "json").out)["paths"]}
    lines = [line.split()[1] for line in podjail.cli("explain", "--policy", policy).out.decode().split("\nfiles ")[1].splitlines()[1:] if "/" in line]
    assert sorted(lines) == sorted(paths) and len(set(lines)) == len(lines)
    assert paths["/srv"] == "write+execute"


def test_check_is_harmless_on_a_terminal(podjail):
    outcome = podjail.cli("check", podjail.write("b\x1b[2Jad.py", "x = '\x07\x1b' +* 1\n"))
    assert outcome.code == 65
    text = outcome.out.decode()
    assert "\x1b" not in text and "\x07" not in text and r"b\x1b[2Jad.py:1:11" in text
    lines = text.splitlines()
    assert lines[2].index("^") == lines[1].index("*"), text


def test_check_sarif_uri(podjail):
    podjail.write("a b/ü#1%.py", "def f(:\n")
    outcome = podjail.cli("check", "--format", "sarif", "in/a b")
    uri = json.loads(outcome.out)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "in/a%20b/%C3%BC%231%25.py"
    outcome = podjail.cli("check", "--format", "sarif", "-", input=b"def f(:\n")
    assert json.loads(outcome.out)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "stdin"


def test_check_of_a_folder_without_python(podjail):
    podjail.write("empty/notes.txt", "")
    fine = podjail.write("fine.py", "print(1)\n")
    outcome = podjail.cli("check", "--format", "json", podjail.dir / "in/empty", fine)
    assert outcome.code == 66
    assert outcome.text == f"podjail: no Python file in {podjail.dir}/in/empty\n"
    value = json.loads(outcome.out)
    assert value["schema"] == "podjail.check/v1"
    assert [entry["path"] for entry in value["files"]] == [str(fine)]


def test_check_of_a_folder_that_cannot_be_read(podjail):
    podjail.write("app/a.py", "print(1)\n")
    closed = podjail.write("app/sub/b.py", "print(\n").parent
    closed.chmod(0)
    outcome = podjail.cli("check", podjail.dir / "in/app")
    closed.chmod(0o755)
    assert outcome.code == 66 and "Permission denied" in outcome.text


def record(podjail, **sections):
    return podjail.write("../r.json", json.dumps({"schema": "podjail.result/v1", "status": "failed", **sections}))


def test_result_show_of_stdin(podjail):
    outcome = podjail.run("print('some output')\n")
    shown = podjail.cli("result", "show", "-", input=(outcome.folder / "result.json").read_bytes())
    assert shown.code == 0 and b"some output" in shown.out
    closed = subprocess.run([*as_user(), "/bin/sh", "-c", f"exec {podjail.binary} result show - <&-"], capture_output=True)
    assert (closed.returncode, closed.stdout) == (66, b"")


def test_result_show_says_only_what_was_seen(podjail):
    outcome = podjail.run("print(\n").expect("rejected")
    shown = podjail.cli("result", "show", outcome.folder / "result.json").out.decode()
    assert "\n  exit" not in shown
    outcome = podjail.run("pass\n", policy=podjail.dir / "nowhere.json").expect("invalid_policy")
    shown = podjail.cli("result", "show", outcome.folder / "result.json").out.decode()
    assert "\n  exit" not in shown and "not enforced" not in shown and "\n  jail" not in shown


def test_result_show_one_line_fields(podjail):
    file = record(
        podjail,
        message=HOSTILE,
        script={"name": HOSTILE},
        validation={"findings": [{"rule": HOSTILE, "severity": HOSTILE, "message": HOSTILE, "hint": HOSTILE}]},
        violations=[{"what": HOSTILE, "detail": HOSTILE, "action": HOSTILE, "count": 1}],
        artifacts={"files": [{"path": HOSTILE, "bytes": 1}], "refused": [{"path": HOSTILE, "reason": HOSTILE}]},
    )
    shown = podjail.cli("result", "show", file)
    assert shown.code == 0
    text = shown.out.decode()
    assert text.count(r"a\x1b[2J\nb\x9bc\x07") == 12
    assert "\x1b" not in text and "\x9b" not in text


@pytest.mark.parametrize("sections", [{"status": 5}, {"status": None}])
def test_result_show_without_a_status(podjail, sections):
    shown = podjail.cli("result", "show", record(podjail, **sections))
    assert shown.code == 66 and "is no podjail.result/v1" in shown.text


def test_result_show_of_wrong_types(podjail):
    wrong = {name: value for name, value in zip(["run", "script", "exit", "usage", "isolation", "stdout", "artifacts", "violations"], [1, "x", [], True, 1.5, None, {}, 2])}
    assert podjail.cli("result", "show", record(podjail, **wrong)).code == 0
    deep = "[" * 400000 + "]" * 400000
    file = podjail.write("../r.json", f'{{"schema": "podjail.result/v1", "status": "failed", "script": {{"return_value": {deep}}}}}')
    assert podjail.cli("result", "show", file).code == 0
