"""The result folder and the input folder: whose files are whose."""

import json
import os
import pty
import subprocess
import time

import harness
import pytest

ARTIFACT = "import os\nopen(os.environ['PODJAIL_OUTPUT_DIR'] + '/plot.txt', 'w').write('1')\nprint('out')\n"


def test_a_new_run_leaves_nothing_of_the_last_one(podjail):
    out = podjail.out()
    assert podjail.run(ARTIFACT, out=out).expect("succeeded").get("artifacts.files[0].path") == "plot.txt"
    podjail.run("print(", out=out).expect("rejected", reason="syntax_error")
    assert sorted(os.listdir(out)) == ["result.json", "stderr.log", "stdout.log"]
    assert (out / "stdout.log").read_bytes() == b""
    podjail.run(podjail.dir / "in" / "none.py", out=out).expect("invalid_input", reason="missing")
    assert os.listdir(out) == ["result.json"]


@pytest.mark.parametrize("name", ["artifacts/model.bin", "stdout.log", "result.json"])
def test_somebody_elses_files_are_refused_and_kept(podjail, name):
    mine = podjail.write("project/" + name, "mine")
    script = podjail.write("script.py", "print(1)\n")
    outcome = podjail.finish(podjail.start("run", "--out", podjail.dir / "in/project", script), folder=podjail.dir)
    assert outcome.code == 73
    assert str(podjail.dir / "in/project") in outcome.text and "--out" in outcome.text
    assert mine.read_text() == "mine"


def test_a_lost_runs_empty_stream_file_is_no_obstacle(podjail):
    podjail.write("../lost/stdout.log", "")
    podjail.own(podjail.dir / "lost")
    podjail.run("print(1)\n", out=podjail.dir / "lost").expect("succeeded")


def test_two_runs_do_not_share_a_folder(podjail):
    out = podjail.out()
    script = podjail.write("slow.py", "import time\nprint('up', flush=True)\ntime.sleep(20)\n")
    first = podjail.start("run", "--quiet", "--out", out, "--run-id", "q", script)
    assert first.stdout.readline() == b"up\n"
    second = podjail.start("run", "--out", out, "--run-id", "q", script)
    _, err = second.communicate(timeout=20)
    podjail.running.remove(second)
    assert second.returncode == 73 and b"another podjail" in err
    assert json.loads((out / "result.json").read_text())["status"] == "running"
    first.terminate()
    podjail.finish(first, folder=out).expect("cancelled", reason="sigterm")


def test_the_result_folder_within_the_input_is_no_part_of_the_task(podjail):
    script = podjail.write("task/main.py", "import os\nprint(sorted(os.listdir('.')))\nopen(os.environ['PODJAIL_INPUT_DIR'] + '/out/result.json')\n")
    podjail.write("task/data.txt", "x")
    out = podjail.dir / "in/task/out"
    for _ in range(2):  # the second time there is a result, which is not Python's to read either
        outcome = podjail.run(script, options=["--input", podjail.dir / "in/task"], out=out).expect("failed", reason="exception")
        assert outcome.out == b"['data.txt', 'main.py', 'output']\n"
        assert outcome.get("script.exception.type") == "PermissionError"
        (out / "artifacts").mkdir()
        (out / "artifacts" / "broken.py").write_text("print(")
        podjail.own(out)


def test_the_result_folder_is_not_the_input_folder(podjail):
    script = podjail.write("task/main.py", "print(1)\n")
    folder = podjail.dir / "in/task"
    outcome = podjail.finish(podjail.start("run", "--quiet", "--out", folder, "--input", folder, script), folder=folder, check=False)
    outcome.expect("invalid_input", reason="input")


def test_every_finding_names_its_file(podjail):
    podjail.write("task/a.py", "import ctypes\n")
    podjail.write("task/sub/b.py", "x = (\n")
    script = podjail.write("task/main.py", "import ctypes\n")
    outcome = podjail.run(script, options=["--input", podjail.dir / "in/task"]).expect("rejected", reason="forbidden")
    assert outcome.result["message"].startswith("a.py: ")
    assert [finding["file"] for finding in outcome.get("validation.findings")] == ["a.py", "sub/b.py", "main.py"]


def test_a_replayed_result_honours_exit_code(podjail):
    out = podjail.out()
    run = ["--run-id", "once"]
    podjail.run("import sys\nsys.exit(5)\n", options=run, out=out).expect("failed", code=5)
    for mode, code in (("status", 1), ("command", 5), ("supervisor", 0)):
        outcome = podjail.run("print('never')\n", options=[*run, "--exit-code", mode], out=out)
        assert (outcome.code, outcome.out) == (code, b"")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import socket\nsocket.socket()\n", "network.connect_tcp"),
        ("import os\nos.fork()\n", "limits.processes"),
        ("import subprocess\nsubprocess.run(['/bin/true'])\n", "limits.processes"),
        ("open('beside.txt')\n", "--input"),
        ("import neighbour\n", "--input"),
        ("import os\nos.environ['PODJAIL_INPUT_DIR']\n", "--input"),
        ("open('/etc/hostname.d/x')\n", None),
        ("open('/var/log/x', 'w')\n", "filesystem.write"),
        ("l = [open('/dev/null') for _ in range(1000)]\n", "limits.open_files"),
        ("import sys\nsys.exit('no configuration')\n", "no configuration"),
    ],
)
def test_a_failure_that_the_jail_explains_says_what_to_change(podjail, source, words):
    podjail.write("beside.txt", "x")
    podjail.write("neighbour.py", "x = 1\n")
    outcome = podjail.run(source).expect("failed")
    assert words is None or words in outcome.result["message"]


def test_integers_beyond_a_double_are_refused_not_lost(podjail):
    script = podjail.write("script.py", "def handler(payload):\n    return {'n': 10 ** payload}\n")
    fits = podjail.run(script, options=["--function", "handler", "--payload", podjail.write("../p.json", "300")]).expect("succeeded")
    assert fits.get("script.return_value.n") == 10**300
    lost = podjail.run(script, options=["--function", "handler", "--payload", podjail.write("../p.json", "309")])
    assert "$.n" in lost.expect("failed", reason="return_value_not_json").result["message"]


def test_on_a_terminal_lines_show_as_they_are_written(podjail):
    script = podjail.write("script.py", "import time\nprint('one')\ntime.sleep(1.5)\nprint('two')\n")
    master, slave = pty.openpty()
    process = podjail.start("run", "--quiet", "--out", podjail.out(), script, stdout=slave)
    os.close(slave)
    assert os.read(master, 100) == b"one\r\n"
    seen = time.monotonic()
    assert os.read(master, 100) == b"two\r\n"
    assert time.monotonic() - seen > 1
    process.communicate(timeout=20)
    podjail.running.remove(process)
    os.close(master)
    assert process.returncode == 0


# Of a volume: what is mounted where before the run, --out, and filesystem.write; `apart` where the script may have both.
MOUNTED_TWICE = {
    "twice": ({"vol/run1": "out", "vol": "data"}, "out", "data", False),
    "twice_and_deeper": ({"vol": "data", "vol/run1": "up"}, "up/out", "data", False),
    "beneath_the_root": ({"vol/run1": "out", "vol": "data/sub"}, "out", "data", False),
    "beneath_the_root_by_its_other_name": ({"vol/run1": "out", "data": "name with\ttab", "vol": "data/sub"}, "out", "name with\ttab", False),
    "of_the_volume_itself": ({"vol/run1": "out"}, "out", "vol", False),
    "one_mount": ({}, "vol/run1", "vol", False),
    "apart": ({"vol/run1": "out", "vol/run": "data"}, "out", "data", True),
    "apart_beneath_the_root": ({"vol/run1": "out", "vol/run": "data/sub"}, "out", "data", True),
    "hidden": ({"vol/run1": "out", "vol": "data", "vol/run": "data"}, "out", "data", True),
}


@pytest.mark.claim("C-14")
@pytest.mark.parametrize("kind", MOUNTED_TWICE)
def test_a_volume_that_is_mounted_twice_does_not_open_the_result(podjail, binary, kind):
    harness.need("root", os.geteuid() == 0, "needs root to mount")
    mounts, out, root, apart = MOUNTED_TWICE[kind]
    for folder in ("vol/run1/out", "vol/run", "out", "up", "data/sub", "name with\ttab"):
        (podjail.dir / folder).mkdir(parents=True, exist_ok=True)
        podjail.own(podjail.dir / folder.split("/")[0])
    root = podjail.dir / root
    script = podjail.write("script.py", f"print('RAN')\nopen({str(root / 'mine')!r}, 'w').write('x')\n")
    # As arguments: no quoting of what the paths hold.
    run = [str(a) for a in (binary, "run", "--quiet", "--out", podjail.dir / out, "--set", f"filesystem.write={json.dumps([str(root)])}", script)]
    pairs = [str(podjail.dir / path) for pair in mounts.items() for path in pair]
    inside = 'n=$1; shift; while [ $n -gt 0 ]; do mount --bind "$1" "$2" || exit 99; shift 2; n=$((n - 1)); done; exec "$@"'
    namespace = ["unshare", "-m", "sh", "-c", inside, "sh", str(len(mounts)), *pairs]
    end = subprocess.run([*namespace, *harness.as_user(podjail.uid, podjail.gid), *run], env=podjail.environment(), capture_output=True, timeout=60)
    where = podjail.dir / next((source for source, point in mounts.items() if point == out.split("/")[0]), out.split("/")[0])
    outcome = harness.Outcome(run, end.returncode, end.stdout, end.stderr, 0, where.joinpath(*out.split("/")[1:]))
    outcome.result = harness.strict_json((outcome.folder / "result.json").read_bytes())
    harness.check_result(outcome.result, outcome.folder)
    if apart:
        assert outcome.expect("succeeded").out == b"RAN\n"
    else:
        assert f"lies beneath filesystem.write {root}" in outcome.expect("invalid_policy", reason="policy").result["message"]
        assert outcome.out == b""
