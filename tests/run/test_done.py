"""Each way for a run to end, as an ordinary user with no_new_privs: the documented status, exit code, and a result that says why."""

import hashlib
import os
import re

import pytest
from harness import EXIT_CODES, need

OFF = {"validation.enabled": "false", "audit.action": '"off"'}  # the kernel layers alone


def test_hello(podjail):
    outcome = podjail.run('print("hello")\n').expect("succeeded", code=0)
    assert outcome.out == b"hello\n"
    assert outcome.get("stdout.text") == "hello\n"
    assert outcome.get("stdout.sha256") == hashlib.sha256(b"hello\n").hexdigest()
    assert outcome.get("script.name") == "script.py"
    assert outcome.get("script.bytes") == 15
    assert outcome.get("script.sha256") == hashlib.sha256(b'print("hello")\n').hexdigest()
    assert outcome.get("validation.verdict") == "accepted"
    assert outcome.get("policy.name") == "default"
    assert outcome.get("exit.supervisor_code") == 0
    assert all(layer["enforced"] for layer in outcome.get("isolation.layers") if layer["required"])
    assert outcome.result["retry_safe"] is False


@pytest.mark.claim("C-13")
def test_exception(podjail):
    outcome = podjail.run("def f(x):\n    return 1 / x\n\n\nf(0)\n").expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") == "ZeroDivisionError"
    assert outcome.get("script.exception.message") == "division by zero"
    assert outcome.get("script.exception.line") == 2
    assert 'line 2, in f\n    return 1 / x' in outcome.get("script.exception.traceback")
    assert "ZeroDivisionError" in outcome.result["message"]


def test_exit_3(podjail):
    outcome = podjail.run("import sys\nsys.exit(3)\n").expect("failed", "exit_code", code=3)
    assert "3" in outcome.result["message"]
    assert outcome.get("script.exception") is None


@pytest.mark.claim("C-10")
def test_endless_loop(podjail):
    outcome = podjail.run("while True:\n    pass\n", sets={"limits.wall": "1s", "limits.grace": "200ms"}).expect("timed_out", "limits.wall")
    assert outcome.result["observed"] is True
    assert "limits.wall" in outcome.result["message"]
    assert "1" in outcome.result["message"]
    assert 1.0 <= outcome.get("usage.wall") < 2.5
    assert outcome.seconds < 4


@pytest.mark.claim("C-10")
def test_endless_loop_on_the_cpu(podjail):
    outcome = podjail.run("while True:\n    pass\n", sets={"limits.cpu": "1s", "limits.wall": "30s"}).expect("cpu_exceeded", "limits.cpu")
    assert 0.9 <= outcome.get("usage.user") + outcome.get("usage.system") < 2


@pytest.mark.claim("C-11")
def test_memory_bomb(podjail):
    outcome = podjail.run("x = []\nwhile True:\n    x.append(bytearray(b'x') * (1 << 20))\n", sets={"limits.memory": "128Mi"})
    outcome.expect("memory_exceeded", "limits.memory")
    assert outcome.get("usage.peak_memory") < 200 << 20
    assert outcome.seconds < 20


def test_one_big_allocation(podjail):
    outcome = podjail.run("x = bytearray(8 << 30)\n", sets={"limits.memory": "128Mi"}).expect("memory_exceeded", "limits.memory", code=1)
    assert outcome.result["observed"] is False  # it is the script's word
    assert outcome.get("script.exception.type") == "MemoryError"


def test_a_handled_memory_error_is_the_scripts_own_business(podjail):
    source = "try:\n    bytearray(8 << 30)\nexcept MemoryError:\n    print('handled')\n"
    assert podjail.run(source, sets={"limits.memory": "128Mi"}).expect("succeeded", code=0).stdout == b"handled\n"


@pytest.mark.claim("C-12")
def test_100_mb_print(podjail):
    source = "import sys\nline = 'x' * 99 + '\\n'\nfor _ in range(1_000_000):\n    sys.stdout.write(line)\nprint('END')\n"
    outcome = podjail.run(source).expect("succeeded", code=0)
    data = (b"x" * 99 + b"\n") * 1_000_000 + b"END\n"
    assert outcome.get("stdout.bytes") == len(data)
    assert outcome.get("stdout.sha256") == hashlib.sha256(data).hexdigest()
    assert outcome.get("stdout.truncated") is True
    assert outcome.get("stdout.kept") <= 1 << 20
    assert outcome.stdout.startswith(b"x" * 99 + b"\n")
    assert outcome.stdout.endswith(b"END\n")
    assert len(outcome.stdout) < (1 << 20) + 1000


@pytest.mark.claim("C-12")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_more_output_than_allowed(podjail, stream):
    source = f"import sys\nwhile True:\n    sys.{stream}.write('y' * 4096)\n"
    outcome = podjail.run(source, sets={"limits.output": "4Mi"}).expect("output_exceeded", "limits.output")
    assert outcome.get(f"{stream}.bytes") >= 4 << 20
    assert outcome.seconds < 10


@pytest.mark.claim("C-08")
@pytest.mark.parametrize("validation", [{}, OFF], ids=["validated", "kernel only"])
def test_fork(podjail, validation):
    outcome = podjail.run("import os\nos.fork()\nprint('THROUGH')\n", sets=validation).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") == "PermissionError"
    assert outcome.stdout == b""
    assert outcome.get("usage.peak_processes") == 1
    assert any(outcome.violation(what) for what in ("clone", "fork", "vfork")), outcome.result["violations"]


@pytest.mark.claim("C-08")
def test_subprocess(podjail):
    outcome = podjail.run("import subprocess\nsubprocess.run(['/bin/true'])\nprint('THROUGH')\n", sets=OFF).expect("failed", "exception")
    assert outcome.stdout == b""


@pytest.mark.claim("C-04")
@pytest.mark.parametrize(
    ("family", "kind", "detail"),
    [("AF_INET", "SOCK_STREAM", "AF_INET"), ("AF_INET6", "SOCK_DGRAM", "AF_INET6"), ("AF_UNIX", "SOCK_STREAM", "AF_UNIX"), ("AF_NETLINK", "SOCK_RAW", "AF_NETLINK")],
)
def test_socket(podjail, family, kind, detail):
    outcome = podjail.run(f"import socket\nsocket.socket(socket.{family}, socket.{kind})\nprint('THROUGH')\n", sets=OFF).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") == "PermissionError"
    violation = outcome.violation("socket")
    assert violation["layer"] == "seccomp"
    assert violation["action"] == "EPERM"
    assert violation["count"] == 1
    assert violation["detail"].startswith(f"{detail}, {kind}")


def test_socket_as_validated(podjail):
    """Under the default policy: refused before it starts, or by the kernel; never through."""
    outcome = podjail.run("import socket\nsocket.socket()\nprint('THROUGH')\n")
    assert outcome.status in ("failed", "rejected"), outcome.describe()
    assert outcome.code == EXIT_CODES[outcome.status]
    assert outcome.stdout == b""


@pytest.mark.claim("C-01")
@pytest.mark.parametrize("path", ["/etc/shadow", "{outside}", "/root", "/proc/1/environ", "/proc/{supervisor}/environ", "/proc/{supervisor}/mem"])
def test_reading_what_the_policy_does_not_list(podjail, path):
    secret = podjail.dir / "secret.txt"  # mode 0644: only the jail keeps the script from it
    secret.write_text("secret")
    source = f"import os\npath = {path!r}.format(outside={str(secret)!r}, supervisor=os.getppid())\nos.listdir(path) if path == '/root' else open(path, 'rb').read()\nprint('THROUGH')\n"
    outcome = podjail.run(source, sets=OFF).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") in ("PermissionError", "FileNotFoundError")
    assert outcome.get("script.exception.type") == "PermissionError" or "proc" in path
    assert outcome.stdout == b""


def test_reading_what_the_policy_lists(podjail):
    """The positive control of the test above."""
    shared = podjail.dir / "shared"
    shared.mkdir()
    (shared / "data.txt").write_text("shared")
    outcome = podjail.run(f"print(open({str(shared / 'data.txt')!r}).read())\n", policy=podjail.policy({"filesystem": {"read": [str(shared)]}}))
    assert outcome.expect("succeeded", code=0).stdout == b"shared\n"


@pytest.mark.claim("C-02")
@pytest.mark.parametrize(
    "change",
    ["open('{p}', 'a')", "open('{d}/new', 'w')", "__import__('os').unlink('{p}')", "__import__('os').rename('{p}', '{p}2')", "__import__('os').truncate('{p}', 0)",
     "__import__('os').mkdir('{d}/new')", "__import__('os').symlink('x', '{d}/new')", "__import__('os').link('{p}', 'mine')"],
)  # fmt: skip
def test_changing_what_the_policy_does_not_list(podjail, change):
    folder = podjail.dir / "theirs"
    folder.mkdir()
    (folder / "file").write_text("content")
    podjail.own(folder)  # the script's own uid owns it: only the jail keeps it
    outcome = podjail.run(change.format(p=folder / "file", d=folder) + "\n", sets=OFF).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") in ("PermissionError", "OSError")
    assert (folder / "file").read_text() == "content"
    assert os.listdir(folder) == ["file"]


@pytest.mark.claim("C-02")
def test_the_script_cannot_change_its_own_source(podjail):
    outcome = podjail.run("open(__file__, 'a').write('x')\n", sets=OFF).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") in ("PermissionError", "OSError")


@pytest.mark.claim("C-03")
@pytest.mark.parametrize(
    "attack",
    [
        "os.kill(s, signal.SIGTERM)",
        "os.kill(s, signal.SIGKILL)",
        "os.kill(s, signal.SIGSTOP)",
        "os.kill(-1, signal.SIGTERM)",
        "signal.pidfd_send_signal(os.pidfd_open(s), signal.SIGTERM)",
        "resource.prlimit(s, resource.RLIMIT_FSIZE, (0, 0))",
        "resource.prlimit(s, resource.RLIMIT_CPU, (1, 1))",
        "os.setpriority(os.PRIO_PROCESS, s, 19)",
        "os.sched_setaffinity(s, {0})",
        "os.sched_setscheduler(s, os.SCHED_IDLE, os.sched_param(0))",
        "(libc.ptrace(16, s, 0, 0) == 0) or fail()",
        "(libc.process_vm_writev(s, 0, 0, 0, 0, 0) == 0) or fail()",
    ],
)
def test_attacks_on_the_supervisor(podjail, attack):
    source = (
        "import ctypes, os, resource, signal, time\n"
        "s = os.getppid()\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "def fail():\n    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n"
        f"try:\n    {attack}\n    print('THROUGH')\nexcept OSError as e:\n    print('refused', e.errno)\ntime.sleep(0.2)\nprint('alive')\n"
    )
    outcome = podjail.run(source, sets=OFF).expect("succeeded", code=0)
    assert re.fullmatch(rb"refused (1|3|13|38)\nalive\n", outcome.stdout), outcome.stdout
    assert outcome.get("stdout.bytes") == len(outcome.stdout)


def test_kill_of_the_supervisor_is_recorded(podjail):
    outcome = podjail.run("import os\nos.kill(os.getppid(), 15)\n", sets=OFF).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") == "PermissionError"
    assert outcome.violation("kill")["action"] == "EPERM"


def test_empty_file(podjail):
    outcome = podjail.run(b"").expect("succeeded", code=0)
    assert outcome.get("script.bytes") == 0
    assert outcome.out == b""


def test_file_with_nul(podjail):
    outcome = podjail.run(b"print(1)\nx = 'a\0b'\n").expect("invalid_input", "nul_byte")
    assert "line 2" in outcome.result["message"]
    assert outcome.get("exit.code") is None


INVALID = {
    "utf16": (b"\xff\xfe" + "print(1)\n".encode("utf-16-le"), "UTF-16"),
    "utf32": (b"\xff\xfe\0\0" + "print(1)\n".encode("utf-32-le"), "UTF-"),
    "bad utf-8": (b"print('ok')\nx = '\xe9'\n", "line 2"),
    "latin-1": (b"# coding: latin-1\nx = '\xe9'\n", "UTF-8"),
    "utf-7 cookie": (b"# coding: utf-7\nprint(1)\n", "utf-7"),
    "escape cookie": (b"# coding: unicode_escape\nprint(1)\n", "unicode_escape"),
    "unknown cookie": (b"# coding: no-such\nprint(1)\n", "no-such"),
    "zip": (b"PK\x03\x04" + b"\0" * 100, "zip"),
    "pyc": (b"\xa7\r\r\n" + b"\0" * 100, ""),
    "elf": (b"\x7fELF" + b"\0" * 100, ""),
    "gzip": (b"\x1f\x8b\x08\0" + b"\0" * 100, ""),
}


@pytest.mark.parametrize("kind", INVALID)
def test_what_is_not_python_text(podjail, kind):
    data, text = INVALID[kind]
    outcome = podjail.run(data).expect("invalid_input")
    assert text in outcome.result["message"]
    assert outcome.get("script.sha256") == hashlib.sha256(data).hexdigest()


def test_too_large(podjail):
    outcome = podjail.run("x = 1\n" * 20_000, sets={"validation.max_script": "64Ki"}).expect("invalid_input", "too_large")
    assert re.search("64Ki|65536", outcome.result["message"])


def test_folder(podjail):
    outcome = podjail.run(podjail.write("app/x.py", "").parent).expect("invalid_input")
    assert "__main__.py" in outcome.result["message"]


def test_folder_with_main(podjail):
    podjail.write("app/helper.py", "VALUE = 7\n")
    outcome = podjail.run(podjail.write("app/__main__.py", "import helper\nprint(helper.VALUE, __name__)\n").parent)
    assert outcome.expect("succeeded", code=0).stdout == b"7 __main__\n"


def test_missing_file(podjail):
    outcome = podjail.run(podjail.dir / "in/nowhere.py").expect("invalid_input")
    assert "nowhere.py" in outcome.result["message"]
    assert "nowhere.py" in podjail.cli("run", podjail.dir / "in/nowhere.py").text


@pytest.mark.claim("C-15")
@pytest.mark.parametrize("kind", ["not writable", "a file", "below a file", "missing parent of another user"])
def test_out_that_cannot_be_written(podjail, kind):
    match kind:
        case "not writable":
            out = podjail.dir / "locked"
            out.mkdir(mode=0o555)
            podjail.own(out)
        case "a file":
            out = podjail.write("../taken", "x").resolve()
        case "below a file":
            out = podjail.write("../taken", "x").resolve() / "out"
        case _:
            out = podjail.dir.parent.parent / "root-only" / "out" if os.geteuid() else podjail.dir / "theirs" / "out"
            if os.geteuid() == 0:
                out.parent.mkdir(mode=0o700)
    ran = podjail.dir / "tmp-marker"
    process = podjail.start("run", "--out", out, podjail.write("s.py", f"print('RAN')\nopen({str(ran)!r}, 'w')\n"))
    outcome = podjail.finish(process, folder=podjail.dir / "nothing")
    assert outcome.code == 73, outcome.describe()
    assert str(out) in outcome.text
    assert re.search(rf"owner \d+:\d+, mode 0\d+; podjail is {podjail.uid}:{podjail.gid}\)", outcome.text)
    assert outcome.out == b""


def test_segfault(podjail):
    outcome = podjail.run("import ctypes\nctypes.string_at(0)\n", sets=OFF).expect("killed", "SIGSEGV")
    assert outcome.get("exit.signal") == "SIGSEGV"
    assert outcome.get("exit.code") is None


def test_killed_by_itself(podjail):
    podjail.run("import os\nos.kill(os.getpid(), 9)\n", sets=OFF).expect("killed", "SIGKILL")


@pytest.mark.claim("C-10")
def test_more_processes_than_allowed(podjail):
    source = "import os, time\nfor _ in range(100):\n    if os.fork() == 0:\n        time.sleep(30)\n        os._exit(0)\n"
    outcome = podjail.run(source, sets={**OFF, "limits.processes": "4", "limits.wall": "10s"})
    assert outcome.status in ("processes_exceeded", "failed"), outcome.describe()
    assert outcome.get("usage.peak_processes") <= 4
    assert outcome.seconds < 8


@pytest.mark.claim("C-10")
def test_nothing_survives(podjail):
    """setsid and a double fork don't help: the harness adopts orphans and would see what is left."""
    source = (
        "import os, time, signal\n"
        "if os.fork() == 0:\n    os.setsid()\n    for s in (15, 1, 2):\n        signal.signal(s, signal.SIG_IGN)\n"
        "    if os.fork() == 0:\n        time.sleep(60)\n    time.sleep(60)\n    os._exit(0)\ntime.sleep(0.3)\nprint('main done')\n"
    )
    outcome = podjail.run(source, sets={**OFF, "limits.processes": "8"}).expect("succeeded", code=0)
    assert outcome.seconds < 5
    assert outcome.stdout == b"main done\n"


def test_file_larger_than_allowed(podjail):
    outcome = podjail.run("f = open('big', 'wb')\nfor _ in range(64):\n    f.write(b'x' * (1 << 20))\n", sets={**OFF, "limits.file_size": "8Mi"})
    assert outcome.status in ("disk_exceeded", "failed"), outcome.describe()
    assert "File too large" in outcome.stderr


def test_rejected_syntax_error(podjail):
    outcome = podjail.run("x = 1\nif x\n    pass\n").expect("rejected", "syntax_error")
    finding = outcome.get("validation.findings")[0]
    assert (finding["line"], finding["column"]) == (2, 5)
    assert finding["message"] == "expected ':'"
    assert "line 2" in outcome.result["message"]


@pytest.mark.parametrize("source", ["import socket\n", "def f():\n    from socket import create_connection as c\n", "import os, socket.x\n"])
def test_rejected_import(podjail, source):
    outcome = podjail.run(source, sets={"validation.imports.deny": ["socket"]}).expect("rejected", "forbidden")
    finding = outcome.get("validation.findings")[0]
    assert finding["rule"] == "PJ101"
    assert "socket" in finding["message"]
    assert finding["line"] == source.count("\n")
    assert finding["hint"]


@pytest.mark.claim("C-14")
def test_started_record_and_final_result_replace_each_other(podjail):
    """While the script runs, result.json says running; afterwards it is final."""
    import json
    import subprocess

    from harness import wait_for

    out = podjail.out()
    script = podjail.write("s.py", "input()\nprint('done')\n")
    process = podjail.start("run", "--quiet", "--stdin", "--out", out, script, stdin=subprocess.PIPE)
    record = wait_for(lambda: (out / "result.json").exists() and (out / "result.json").read_bytes(), "the started record")
    started = json.loads(record)
    assert started["status"] == "running"
    assert started["run"]["started_at"] is None or started["run"]["finished_at"] is None
    outcome = podjail.finish(process, b"\n", folder=out).expect("succeeded", code=0)
    assert outcome.get("run.id") == started["run"]["id"]


@pytest.mark.claim("C-14")
@pytest.mark.parametrize("target", ["result.json", "stdout.log", "forged.json", "artifacts/forged.txt"])
def test_the_script_cannot_reach_the_result(podjail, target):
    out = podjail.out()
    source = f"open({str(out / target)!r}, 'w').write('forged')\n"
    outcome = podjail.run(source, sets=OFF, out=out).expect("failed", "exception", code=1)
    assert outcome.get("script.exception.type") in ("PermissionError", "FileNotFoundError")


@pytest.mark.claim("C-14")
def test_the_result_folder_is_restored(podjail):
    """Landlock does not mediate chmod: the script can change modes below a path it can name, the result is published all the same."""
    out = podjail.out()
    out.mkdir()
    podjail.own(out)
    source = f"import os\nfor p in ({str(out)!r}, {str(out / 'result.json')!r}):\n    try:\n        os.chmod(p, 0)\n    except OSError as e:\n        print(e.errno)\n"
    podjail.run(source, sets=OFF, out=out).expect("succeeded", code=0)


def test_machine_facilities(podjail):
    """What the other tests rest on; PODJAIL_MUST_HAVE decides whether its lack is a failure."""
    outcome = podjail.run("pass\n")
    layers = {layer["layer"]: layer for layer in outcome.get("isolation.layers")}
    for name in ("seccomp", "landlock.filesystem"):
        layer = layers.get(name, {"enforced": False, "reason": "not reported"})
        need(name.split(".")[0], layer["enforced"], f"{name}: {layer['reason']}")
