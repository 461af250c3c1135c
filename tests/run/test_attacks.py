"""What a review by attack got through once: each is a kind of its own, tried with native calls from the script."""

import json
import os
import signal
import subprocess
import time

import harness
import pytest

RAW = {"validation.enabled": "false"}
# The main thread ends alone (exit(2) is call 60), another goes on.
LEADER = """
import ctypes, os, sys, threading, time, mmap
libc = ctypes.CDLL(None)
def work():
    time.sleep(0.1)
{body}
    print('DONE', flush=True)
    os._exit(0)
threading.Thread(target=work).start()
libc.syscall(60, 0)
"""


def leader(body):
    return LEADER.format(body="\n".join("    " + line for line in body.splitlines()))


@pytest.mark.claim("C-11")
def test_memory_counts_after_the_main_thread_ended(podjail):
    body = "area = mmap.mmap(-1, 400 << 20)\nfor at in range(0, 400 << 20, 4096):\n    area[at] = 1\ntime.sleep(20)"
    podjail.run(leader(body), sets={**RAW, "limits.memory": "64Mi"}).expect("memory_exceeded", reason="limits.memory")


@pytest.mark.claim("C-10")
def test_cpu_counts_after_the_main_thread_ended(podjail):
    outcome = podjail.run(leader("while True:\n    pass"), sets={**RAW, "limits.cpu": "1s", "limits.grace": "100ms"})
    outcome.expect("cpu_exceeded", reason="limits.cpu")


@pytest.mark.claim("C-10")
def test_threads_count_after_the_main_thread_ended(podjail):
    body = "made = 0\ntry:\n    for _ in range(100):\n        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()\n        made += 1\nexcept RuntimeError:\n    print(made < 12)"
    assert podjail.run(leader(body), sets={**RAW, "limits.threads": "8"}).expect("succeeded").out == b"True\nDONE\n"


@pytest.mark.claim("C-10")
def test_processes_count_after_the_main_thread_ended(podjail):
    body = "for _ in range(50):\n    if os.fork() == 0:\n        time.sleep(20)\n        os._exit(0)\ntime.sleep(20)"
    podjail.run(leader(body), sets={**RAW, "limits.processes": "5"}).expect("processes_exceeded", reason="limits.processes")


FORGE = """
import json, os, struct
claim = dict(exception=None, memory_error=False, exit_argument=None, return_value={value}, return_notes={notes}, return_reason='', return_message='', return_bytes=0)
text = json.dumps(claim).encode()
for fd in range(100, 256):
    try:
        os.write(fd, struct.pack('HHI', 8, 0, len(text)))
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(fd, rest):]
    except OSError:
        pass
"""


@pytest.mark.claim("C-14")
@pytest.mark.parametrize(("value", "notes"), [("'[' * 400000 + ']' * 400000", "[]"), ("'1'", "[''] * 2000000"), ("'1\\\\0, \"x\": 2'", "[]"), ("'x' * 3000000", "[]")])
def test_a_forged_claim_cannot_spoil_the_record(podjail, value, notes):
    """The harness reads every record with Python's own recursive json and checks the schema."""
    outcome = podjail.run(FORGE.format(value=value, notes=notes), sets=RAW).expect("succeeded")
    assert outcome.get("script.return_value") in (None, 1)
    shown = podjail.cli("result", "show", outcome.folder / "result.json")
    assert shown.code == 0


@pytest.mark.claim("C-17")
def test_what_hides_in_a_locked_folder_counts(podjail):
    source = "import os\nos.mkdir('blind')\nos.chmod('blind', 0o300)\nfor i in range(40):\n    open(f'blind/{i}', 'wb').write(bytes(1 << 20))\n"
    podjail.run(source, sets={**RAW, "limits.scratch": "16Mi"}).expect("disk_exceeded", reason="limits.scratch")


@pytest.mark.claim("C-02")
def test_no_set_id_bits_and_no_watching(podjail):
    source = (
        "import ctypes, os\nopen('f', 'w').close()\n"
        "for mode in (0o4755, 0o2755, 0o755):\n    try:\n        os.chmod('f', mode)\n        print('changed')\n    except PermissionError:\n        print('refused')\n"
        "libc = ctypes.CDLL(None, use_errno=True)\nprint(libc.inotify_init(), ctypes.get_errno())\n"
    )
    assert podjail.run(source, sets=RAW).expect("succeeded").out == b"refused\nrefused\nchanged\n-1 1\n"


@pytest.mark.claim("C-15")
def test_a_signal_while_the_run_is_prepared_gets_its_result(podjail):
    for n in range(4000):
        (podjail.dir / "in" / f"f{n}").touch()
    script = podjail.write("main.py", "import time\ntime.sleep(30)\n")
    for delay in (0.02, 0.04, 0.08):
        out = podjail.out()
        process = podjail.start("run", "--quiet", "--out", out, "--input", podjail.dir / "in", script)
        deadline = time.monotonic() + 20
        while not out.exists() and time.monotonic() < deadline:  # podjail is at work, and its signals are held
            time.sleep(0.001)
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        podjail.finish(process, folder=out).expect("cancelled", reason="sigterm")


@pytest.mark.claim("C-14")
def test_a_full_disk_costs_the_artifacts_and_not_the_record(podjail, binary):
    harness.need("root", os.geteuid() == 0, "needs root to mount a small tmpfs")
    script = podjail.write("script.py", "import os\nopen(os.environ['PODJAIL_OUTPUT_DIR'] + '/big', 'wb').write(bytes(8 << 20))\n")
    out = podjail.dir / "small"
    out.mkdir()
    user = " ".join(map(str, harness.as_user(podjail.uid, podjail.gid)))
    inside = (
        f"mount -t tmpfs -o size=2m,uid={podjail.uid},gid={podjail.gid} none {out} && "
        f"{user} {binary} run --quiet --out {out} {script}; code=$?; cat {out}/result.json; exit $code"
    )
    end = subprocess.run(["unshare", "-m", "sh", "-c", inside], env=podjail.environment(), capture_output=True, timeout=60)
    record = json.loads(end.stdout)
    assert (end.returncode, record["status"]) == (0, "succeeded")
    assert record["artifacts"]["files"] == [] and record["artifacts"]["refused"] == [{"path": "big", "reason": "write_failed"}]


@pytest.mark.claim("C-10")
def test_processes_that_fork_and_die_do_not_hold_up_the_end(podjail):
    """Each chain is one living process that is another one every time one looks."""
    source = (
        "import os, sys, time\n"
        "end = time.monotonic() + 30\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0:\n"
        "        while time.monotonic() < end:\n"
        "            if os.fork():\n"
        "                os._exit(0)\n"
        "        os._exit(0)\n"
        "time.sleep(60)\n"
    )
    script = podjail.write("chain.py", source)
    sets = {"limits.wall": "1s", "limits.grace": "200ms", "filesystem.read": json.dumps(["/usr", "/lib", "/lib64", str(script.parent)])}
    outcome = podjail.exec("/usr/bin/python3.11", "-S", script, policy="agent", sets=sets).expect("timed_out", reason="limits.wall")
    assert outcome.result["usage"]["wall"] < 15
