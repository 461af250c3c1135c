"""/proc/self in every process of a run, and nobody else's /proc."""

import json
import os

import pytest

RAW = {"validation.enabled": False}
FILES = ("status", "statm", "stat", "maps", "smaps_rollup", "cmdline", "comm", "cgroup", "limits", "io", "mountinfo", "environ", "sched", "oom_score", "net/dev")

LOOK = f"""import os
FILES = {FILES!r}
def look(folder="/proc/self"):
    seen = {{}}
    for name in FILES:
        try:
            with open(f"{{folder}}/{{name}}", "rb") as f:
                seen[name] = len(f.read(4096)) > 0
        except OSError as e:
            seen[name] = type(e).__name__
    for name in ("fd", "task", "fdinfo", ""):
        try:
            seen[name + "/"] = len(os.listdir(f"{{folder}}/{{name}}")) > 0
        except OSError as e:
            seen[name + "/"] = type(e).__name__
    return seen
"""
IN_WORKERS = {
    "fork": "def worker(send):\n    os.write(send, json.dumps(look()).encode())\n    os._exit(0)\n"
    "r, w = os.pipe()\nif os.fork() == 0:\n    worker(w)\nos.wait()\nprint(json.dumps([look(), json.loads(os.read(r, 65536))]))\n",
    "pool": "import multiprocessing\nif __name__ == '__main__':\n    with multiprocessing.get_context('fork').Pool(1) as p:\n        print(json.dumps([look(), p.apply(look)]))\n",
    "grandchild": "r, w = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0:\n        os.write(w, json.dumps(look()).encode())\n        os._exit(0)\n    os.wait()\n    os._exit(0)\n"
    "os.wait()\nprint(json.dumps([look(), json.loads(os.read(r, 65536))]))\n",
    "by number": "r, w = os.pipe()\nif os.fork() == 0:\n    os.write(w, json.dumps(look(f'/proc/{os.getpid()}')).encode())\n    os._exit(0)\n"
    "os.wait()\nprint(json.dumps([look(), json.loads(os.read(r, 65536))]))\n",
    "thread": "import threading\nr, w = os.pipe()\nif os.fork() == 0:\n    t = threading.Thread(target=lambda: os.write(w, json.dumps(look('/proc/self')).encode()))\n    t.start()\n    t.join()\n    os._exit(0)\n"
    "os.wait()\nprint(json.dumps([look(), json.loads(os.read(r, 65536))]))\n",
}


@pytest.mark.parametrize("kind", IN_WORKERS)
def test_workers_see_what_the_first_process_sees(podjail, kind):
    outcome = podjail.run("import json\n" + LOOK + IN_WORKERS[kind], policy="data", sets=RAW).expect("succeeded")
    first, worker = json.loads(outcome.out)
    assert first == worker
    assert set(first.values()) == {True}


def test_a_worker_reads_itself_and_not_its_parent(podjail):
    source = (
        "import os\nr, w = os.pipe()\nif os.fork() == 0:\n    fields = open('/proc/self/status').read()\n    me = int(fields.split('Pid:')[1].split()[0])\n"
        "    own = open('/proc/thread-self/comm').read()\n    os.write(w, repr((me == os.getpid(), os.readlink('/proc/self') == str(os.getpid()))).encode())\n    os._exit(0)\n"
        "os.wait()\nprint(os.read(r, 100).decode())\n"
    )
    assert podjail.run(source, policy="data", sets=RAW).expect("succeeded").out == b"(True, True)\n"


def test_a_parent_reads_its_workers(podjail):
    """As a monitor of workers does."""
    source = LOOK + (
        "import time\npid = os.fork()\nif pid == 0:\n    time.sleep(30)\nseen = look(f'/proc/{pid}')\n"
        "print(all(v is True for v in seen.values()), int(open(f'/proc/{pid}/stat').read().split()[3]) == os.getpid())\nos.kill(pid, 9)\nos.wait()\n"
    )
    outcome = podjail.run(source, policy="data", sets=RAW).expect("succeeded")
    assert outcome.out == b"True True\n", outcome.describe()


@pytest.mark.claim("C-01")
def test_nobody_elses_proc_can_be_read(podjail):
    """PID 1's, podjail's, the test's own: by path from the first process and from a worker, and by the request itself with any number."""
    others = f"[1, os.getppid(), {os.getpid()}]"
    source = (
        "import ctypes, os\nsupervisor = os.getppid()\nlibc = ctypes.CDLL(None, use_errno=True)\nREQUEST = 0x706a0001\n"
        f"others = {others}\n"
        "def attack():\n    got = []\n    for pid in others:\n"
        "        for name in ('status', 'cmdline', 'maps', 'environ', 'mountinfo', 'stat', 'fd'):\n"
        "            try:\n                open(f'/proc/{pid}/{name}').close()\n                got.append((pid, name))\n            except OSError:\n                pass\n"
        "        for index in range(0, 80):\n            for tid in (0, pid):\n"
        "                fd = libc.prctl(REQUEST, index, pid, tid, 0)\n                if fd >= 0:\n                    got.append((pid, index))\n"
        "    try:\n        got.append(os.listdir('/proc'))\n    except OSError:\n        pass\n    return got\n"
        "print(attack())\nr, w = os.pipe()\nif os.fork() == 0:\n    os.write(w, repr(attack()).encode())\n    os._exit(0)\nos.wait()\nprint(os.read(r, 65536).decode())\n"
    )
    outcome = podjail.run(source, policy="data", sets=RAW).expect("succeeded")
    assert outcome.out == b"[]\n[]\n"


def test_what_is_no_file_of_its_own_stays_refused(podjail):
    source = (
        "import os\nif os.fork() == 0:\n    for path in ('/proc/self/mem', '/proc/self/pagemap', '/proc/self/../1/status', '/proc/self/root/etc/shadow', '/proc', '/proc/self/fd/../../1/maps'):\n"
        "        try:\n            open(path).close()\n            print('OPENED', path, flush=True)\n        except OSError:\n            pass\n"
        "    for mode in ('w', 'r+', 'a'):\n        try:\n            open('/proc/self/oom_score_adj', mode).close()\n            print('OPENED to', mode, flush=True)\n        except OSError:\n            pass\n    os._exit(0)\nos.wait()\n"
    )
    assert podjail.run(source, policy="data", sets=RAW).expect("succeeded").out == b""


def test_descriptors_are_given_within_limits_and_flags(podjail):
    source = (
        "import fcntl, os, resource\nif os.fork() == 0:\n    fd = os.open('/proc/self/stat', os.O_RDONLY | os.O_CLOEXEC)\n    print(fcntl.fcntl(fd, fcntl.F_GETFD), os.get_inheritable(fd))\n"
        "    with open('/proc/self/maps') as f:\n        print('[stack]' in f.read())\n    taken = []\n    try:\n        while True:\n            taken.append(open('/proc/self/status'))\n"
        "    except OSError as e:\n        print(e.errno)\n    for f in taken:\n        f.close()\n    print(len(open('/proc/self/status').read()) > 100, flush=True)\n    os._exit(0)\nos.wait()\n"
    )
    outcome = podjail.run(source, policy="data", sets={**RAW, "limits.open_files": 64}).expect("succeeded")
    assert outcome.out == b"1 False\nTrue\n24\nTrue\n"
    assert outcome.result["violations"] == []


def test_under_exec_the_command_itself_reads_its_own(podjail):
    """Programs that a command starts cannot, in T0: docs/policy.md says so."""
    assert podjail.exec("cat", "/proc/self/status", policy="agent").expect("succeeded").out.startswith(b"Name:\tcat")
    refused = podjail.exec("/bin/sh", "-c", "cat /proc/self/status; true", policy="agent").expect("succeeded")
    assert refused.out == b"" and "Permission denied" in refused.text


def test_without_a_listener_the_answer_is_plain(podjail):
    """syscalls.deny of the request's call leaves the refusal of Landlock."""
    source = "import os\nif os.fork() == 0:\n    try:\n        open('/proc/self/status')\n    except PermissionError as e:\n        print(e.errno, flush=True)\n    os._exit(0)\nos.wait()\n"
    assert podjail.run(source, policy="data", sets={**RAW, "syscalls.deny": ["prctl"]}).expect("succeeded").out == b"13\n"


def test_c_extensions_see_the_same(podjail):
    """fopen and opendir of libc, as compiled code calls them."""
    source = (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.fopen.restype = libc.opendir.restype = ctypes.c_void_p\n"
        "if os.fork() == 0:\n    print(bool(libc.fopen(b'/proc/self/statm', b're')), bool(libc.opendir(b'/proc/self/fd')), libc.open(b'/proc/self/stat', 0) > 2, flush=True)\n    os._exit(0)\nos.wait()\n"
    )
    assert podjail.run(source, policy="data", sets=RAW).expect("succeeded").out == b"True True True\n"


def test_workers_follow_the_links_of_proc(podjail):
    """/proc/mounts and /proc/net are links to self/."""
    source = (
        "import os\ndef look():\n    return [len(open(p).read(100)) > 0 for p in ('/proc/mounts', '/proc/net/dev', '/proc/net/tcp')]\n"
        "r, w = os.pipe()\nif os.fork() == 0:\n    os.write(w, repr(look()).encode())\n    os._exit(0)\nos.wait()\nprint(look(), os.read(r, 100).decode())\n"
    )
    assert podjail.run(source, policy="data", sets=RAW).expect("succeeded").out == b"[True, True, True] [True, True, True]\n"
