"""Locks and pools of threads, and what a run leaves in /dev/shm."""

import copy
import os
import subprocess
import time
from pathlib import Path

import harness
import pod
import pytest

RAW = {"validation.enabled": False}
SHM = Path("/dev/shm")

LOCKS = {
    "ThreadPool": "from multiprocessing.pool import ThreadPool\nwith ThreadPool(3) as p:\n    print(p.map(len, ['a', 'bb']))\n",
    "dummy": "from multiprocessing.dummy import Pool\nwith Pool(2) as p:\n    print(p.map(abs, [-1, 2]))\n",
    "Lock": "import multiprocessing as m\nwith m.Lock():\n    print('held')\n",
    "RLock and Semaphore": "import multiprocessing as m\nr, s = m.RLock(), m.BoundedSemaphore(2)\nr.acquire(); r.acquire(); s.acquire()\nprint(s.get_value())\n",
    "Condition and Event": "import multiprocessing as m, threading\ne = m.Event()\nthreading.Timer(0.1, e.set).start()\nprint(e.wait(5))\n",
    "Queue": "import multiprocessing as m\nq = m.Queue()\nq.put(1)\nprint(q.get(timeout=5))\nq.close()\nq.join_thread()\n",
    "SimpleQueue": "import multiprocessing as m\nq = m.SimpleQueue()\nq.put('x')\nprint(q.get())\n",
    "Barrier": "import multiprocessing as m\nprint(m.Barrier(1).wait())\n",
    "Value and Array": "import multiprocessing as m\nv, a = m.Value('i', 3), m.Array('d', 4)\nv.value += 1\nprint(v.value, list(a))\n",
    "executor": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as p:\n    print(sum(p.map(abs, range(10))))\n",
    "many": "import multiprocessing as m\nlocks = [m.Lock() for _ in range(200)]\nprint(len(locks))\n",
}


def names():
    return set(os.listdir(SHM))


@pytest.fixture(autouse=True)
def shared_memory(request):
    """What lies in /dev/shm stays as it was; of the two workers of the suite only this file's makes anything there that it keeps."""
    if request.config.getoption("--pod"):
        yield  # the pod has its own
        return
    harness.need("/dev/shm", SHM.is_dir() and os.access(SHM, os.W_OK), "needs /dev/shm")
    yield


@pytest.mark.parametrize("policy", ["default", "data"])
@pytest.mark.parametrize("kind", LOCKS)
def test_locks_and_thread_pools_work(podjail, kind, policy):
    script = podjail.write("script.py", LOCKS[kind])
    outcome = podjail.run(script, policy=policy, sets=RAW).expect("succeeded")
    plain = subprocess.run([harness.PYTHON, script], capture_output=True, check=True)
    assert outcome.out == plain.stdout and outcome.result["violations"] == []


@pytest.mark.parametrize("policy", ["default", "data"])
def test_locks_work_as_pid_1_of_a_pod(make_pod, binary, base, policy):
    jail = harness.Podjail(binary, base, pod=make_pod("restricted"))
    try:
        source = "".join(LOCKS[kind] for kind in ("ThreadPool", "Lock", "Value and Array"))
        assert jail.run(source, policy=policy, sets=RAW).expect("succeeded").out == b"[1, 2]\nheld\n4 [0.0, 0.0, 0.0, 0.0]\n"
    finally:
        jail.remove()


LEFT = {
    "a file": "open('/dev/shm/{n}', 'w').write('x')\n",
    "a file by os.open": "import os\nos.write(os.open('/dev/shm/{n}', os.O_CREAT | os.O_WRONLY, 0o600), b'x')\nos._exit(0)\n",
    "a semaphore": "import _multiprocessing as m\nm.SemLock(1, 1, 1, '/{n}', False)\n",
    "shm_open": "import _posixshmem, os\nos.ftruncate(_posixshmem.shm_open('/{n}', os.O_CREAT | os.O_RDWR, 0o600), 4096)\n",
    "before a crash": "import os\nopen('/dev/shm/{n}', 'w').close()\nos.kill(os.getpid(), 9)\n",
}


@pytest.mark.claim("C-17")
@pytest.mark.parametrize("kind", LEFT)
def test_what_a_run_leaves_is_removed(podjail, kind):
    name = f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    outcome = podjail.run(LEFT[kind].replace("{n}", name), sets=RAW)
    assert outcome.status in ("succeeded", "killed"), outcome.describe()
    assert not {entry for entry in names() if name in entry}


def test_what_a_worker_leaves_is_removed(podjail):
    name = f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    source = (
        "import os\nfrom multiprocessing import shared_memory\n"
        f"if os.fork() == 0:\n    open('/dev/shm/{name}-1', 'w').close()\n    os._exit(0)\nos.wait()\n"
        f"s = shared_memory.SharedMemory('{name}-2', create=True, size=4096)\ns.buf[0] = 7\nt = shared_memory.SharedMemory('{name}-2')\nprint(t.buf[0], flush=True)\nos._exit(0)\n"
    )
    assert podjail.run(source, policy="data", sets=RAW).expect("succeeded").out == b"7\n"
    assert not {entry for entry in names() if name in entry}


def test_what_a_program_holds_is_removed(podjail):
    """A program that podjail has not built: what it has open when podjail looks is the run's."""
    name = f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    podjail.exec("/bin/sh", "-c", f"exec 3> /dev/shm/{name}; sleep 0.5", policy="agent").expect("succeeded")
    assert not {entry for entry in names() if name in entry}


def test_what_others_have_stays(podjail):
    """Neither what was there before, nor what another program of the same user makes while the run is on."""
    stem = f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    mine = [SHM / f"{stem}-before", SHM / f"{stem}-meanwhile"]
    try:
        mine[0].write_text("kept")
        os.chown(mine[0], podjail.uid, podjail.gid)
        script = podjail.write("script.py", "import time\nopen('/dev/shm/" + stem + "-own', 'w').close()\nprint('up', flush=True)\ntime.sleep(1)\n")
        out = podjail.out()
        process = podjail.start("run", "--quiet", "--out", out, "--set", "validation.enabled=false", script)
        assert process.stdout.readline() == b"up\n"
        mine[1].write_text("kept")
        os.chown(mine[1], podjail.uid, podjail.gid)
        podjail.finish(process, folder=out).expect("succeeded")
        assert [path.read_text() for path in mine] == ["kept", "kept"]
        assert not (SHM / f"{stem}-own").exists()
    finally:
        for path in mine:
            path.unlink(missing_ok=True)


def test_in_a_pod_the_other_containers_keep_theirs(make_pod, binary, base):
    """The containers of a pod have one /dev/shm, so PID 1 doesn't own what appears in it."""
    jail = harness.Podjail(binary, base)
    shm = jail.dir / "shm"
    shm.mkdir()
    (shm / "before").write_text("kept")
    jail.own(shm)
    jail.pod = copy.copy(make_pod("restricted"))
    others = [mount for mount in jail.pod.spec["mounts"] if mount["destination"] != "/dev/shm"]
    jail.pod.spec = jail.pod.spec | {"mounts": [*others, pod.bind(shm, "/dev/shm", "rw")]}
    try:
        script = jail.write("script.py", "import time\nopen('/dev/shm/own', 'w').close()\nprint('up', flush=True)\ntime.sleep(1)\n")
        out = jail.out()
        process = jail.start("run", "--quiet", "--out", out, "--set", "validation.enabled=false", script)
        assert process.stdout.readline() == b"up\n"
        (shm / "sidecar").write_text("kept")
        os.chown(shm / "sidecar", jail.uid, jail.gid)
        jail.finish(process, folder=out).expect("succeeded")
        assert sorted(os.listdir(shm)) == ["before", "sidecar"]
    finally:
        jail.remove()


def test_what_a_policy_without_shared_memory_can_not_reach_stays(podjail):
    """`strict` has no /dev/shm: nothing there is the run's, whoever holds it."""
    path = SHM / f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    script = podjail.write("script.py", "import time\nprint('up', flush=True)\ntime.sleep(0.5)\n")
    out = podjail.out()
    process = podjail.start("run", "--quiet", "--policy", "strict", "--out", out, "--set", "validation.enabled=false", script)
    try:
        assert process.stdout.readline() == b"up\n"
        path.write_text("kept")
        os.chown(path, podjail.uid, podjail.gid)
        podjail.finish(process, folder=out).expect("succeeded")
        assert path.read_text() == "kept"
    finally:
        path.unlink(missing_ok=True)


@pytest.mark.claim("C-11")
def test_empty_files_in_shared_memory_count(podjail):
    """Each costs the kernel about 1 KiB that no rlimit sees."""
    name = f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    source = f"import time\nfor i in range(80000):\n    open(f'/dev/shm/{name}-{{i}}', 'w').close()\ntime.sleep(20)\n"
    podjail.run(source, sets={**RAW, "limits.memory": "64Mi"}).expect("memory_exceeded", reason="limits.memory")
    assert not {entry for entry in names() if name in entry}


@pytest.mark.claim("C-11")
def test_files_in_shared_memory_count_as_memory(podjail):
    """Written, closed, mapped by nobody."""
    name = f"podjail-test-{os.getpid()}-{time.monotonic_ns()}"
    source = (
        f"import time\nblock = bytes(1 << 20)\nfor i in range(4):\n    with open(f'/dev/shm/{name}-{{i}}', 'wb') as f:\n        for _ in range(30):\n            f.write(block)\n"
        "        time.sleep(0.05)\ntime.sleep(10)\n"
    )
    outcome = podjail.run(source, sets={**RAW, "limits.memory": "64Mi"}).expect("memory_exceeded", reason="limits.memory")
    assert outcome.get("usage.peak_memory") > 64 << 20
    assert not {entry for entry in names() if name in entry}


def test_memory_that_workers_share_counts_once(podjail):
    """60 MiB that eight workers read are 60 MiB, not 540."""
    source = (
        "import mmap, os, time\nm = mmap.mmap(-1, 60 << 20)\nm.write(b'x' * (60 << 20))\nfor _ in range(8):\n    if os.fork() == 0:\n"
        "        total = sum(m[i] for i in range(0, 60 << 20, 4096))\n        time.sleep(0.5)\n        os._exit(0)\nfor _ in range(8):\n    os.wait()\nprint('done')\n"
    )
    assert podjail.run(source, policy="data", sets={**RAW, "limits.memory": "300Mi"}).expect("succeeded").out == b"done\n"


@pytest.mark.claim("C-11")
def test_memory_that_workers_share_still_counts(podjail):
    source = (
        "import mmap, os, time\nm = mmap.mmap(-1, 200 << 20)\nif os.fork() == 0:\n    for i in range(0, 200 << 20, 4096):\n        m[i] = 1\n    time.sleep(10)\n    os._exit(0)\nos.wait()\n"
    )
    podjail.run(source, policy="data", sets={**RAW, "limits.memory": "128Mi"}).expect("memory_exceeded", reason="limits.memory")


@pytest.mark.claim("C-02")
def test_shared_memory_can_not_be_listed_or_filled_with_folders(podjail):
    source = (
        "import os\nfor call in (lambda: os.listdir('/dev/shm'), lambda: os.mkdir('/dev/shm/d'), lambda: os.symlink('/etc', '/dev/shm/l'), lambda: os.mkfifo('/dev/shm/f')):\n"
        "    try:\n        call()\n        print('done')\n    except OSError as e:\n        print(e.errno)\n"
    )
    assert podjail.run(source, sets=RAW).expect("succeeded").out == b"13\n13\n13\n13\n"


def test_strict_has_no_shared_memory(podjail):
    source = "import os\ntry:\n    open('/dev/shm/x', 'w')\nexcept PermissionError:\n    print('refused')\n"
    assert podjail.run(source, policy="strict", sets=RAW).expect("succeeded").out == b"refused\n"
