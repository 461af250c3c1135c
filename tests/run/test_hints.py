"""A refusal that ends a script says what to change, and nothing that misleads."""

import os

import pytest

RAW = {"validation.enabled": False}

# source -> words of the message, words that must not be in it; policy, options
HINTS = {
    "network": ("import socket\nsocket.socket()\n", ["network.connect_tcp"], []),
    "network by a library": ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/')\n", ["network.connect_tcp"], []),
    "unix socket": ("import socket\nsocket.socket(socket.AF_UNIX)\n", ["unix sockets", "socketpair"], ["network.connect_tcp"]),
    "datagram pair": ("import socket\nsocket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n", ["SOCK_SEQPACKET"], ["network"]),
    "fork": ("import os\nos.fork()\n", ["limits.processes"], []),
    "subprocess": ("import subprocess\nsubprocess.run(['/bin/true'])\n", ["limits.processes", "filesystem.execute"], []),
    "shared memory needs a tracker process": ("from multiprocessing.shared_memory import SharedMemory\nSharedMemory(create=True, size=10)\n", ["limits.processes"], []),
    "threads": ("import threading, time\nfor _ in range(100):\n    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n", ["limits.threads"], ["limits.processes"]),
    "set-user-ID": ("import os\nopen('f', 'w')\nos.chmod('f', 0o4755)\n", ["set-user-ID"], ["filesystem"]),
    "device": ("import os, stat\nos.mknod('d', stat.S_IFCHR | 0o600, 259)\n", ["regular files and FIFOs"], []),
    "signal": ("import os\nos.kill(os.getppid(), 9)\n", ["own processes"], []),
    "memory file": ("import os\nos.memfd_create('x')\n", ["syscalls.base exec"], []),
    "another call": ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.shmget(0x706a, 4096, 0o1600)\nraise PermissionError(ctypes.get_errno(), 'shmget')\n", ["shmget", "syscalls.allow"], []),
    "unlisted file": ("open('{unlisted}/there')\n", ["filesystem.read"], ["--input"]),
    "unlisted new file": ("open('{unlisted}/x', 'w')\n", ["filesystem.write", "current folder"], []),
    "read-only file": ("open('/usr/lib/os-release', 'a')\n", ["own permissions"], ["filesystem.read"]),
    "second path": ("import os\nopen('a', 'w')\nos.rename('a', '{unlisted}/b')\n", ["/unlisted/b", "filesystem.write"], []),
    "a quote in the name": ('open("{unlisted}/it\'s", "w")\n', ["/unlisted/it's"], []),
    "the script's own mode": ("import os\nopen('f', 'w')\nos.chmod('f', 0)\nopen('f')\n", ["own permissions"], ["policy", "filesystem"]),
    "the folder of __file__": ("import os\nopen(os.path.dirname(__file__) + '/new', 'w')\n", ["folder of __file__", "current folder"], ["filesystem.write"]),
    "its own source": ("open(__file__, 'a')\n", ["folder of __file__"], ["filesystem.write"]),
    "another's /proc": ("import os\nopen(f'/proc/{os.getppid()}/cmdline')\n", ["/proc", "own processes"], ["filesystem"]),
    "a terminal": ("import os\nos.openpty()\n", ["agent"], ["network", "filesystem"]),
    "listing shared memory": ("import os\nos.listdir('/dev/shm')\n", ["can't be listed"], ["filesystem"]),
    "too many files": ("l = [open('/dev/null') for _ in range(1000)]\n", ["limits.open_files"], []),
    "a large file": ("open('f', 'wb').truncate(1 << 40)\n", ["limits.file_size"], []),
    "beside, by an absolute path": ("open({beside!r})\n", ["--input"], ["filesystem.read"]),
    "a cause": ("try:\n    open('{unlisted}/there')\nexcept OSError as e:\n    raise RuntimeError('no configuration') from e\n", ["/unlisted/there", "filesystem.read"], []),
    "the output folder": ("import os\nos.mkdir('output')\n", ["exist_ok"], ["filesystem"]),
    "a database beside the script": ("import os, sqlite3\nsqlite3.connect(os.path.dirname(__file__) + '/x.db').execute('create table t(a)')\n", ["SQLite", "current folder"], []),
    "a link that leads out": ("import os\nos.symlink('{unlisted}/there', 'l')\nopen('l')\n", ["is a link to", "/unlisted/there"], []),
    # Nothing of the jail's doing: no hint.
    "a lock that is held, after a handled refusal": (
        "import fcntl, os\ntry:\n    os.kill(os.getppid(), 0)\nexcept OSError:\n    pass\na, b = open('l', 'w'), open('l', 'w')\nfcntl.flock(a, fcntl.LOCK_EX)\n"
        "fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", [], ["target", ";"]),
    "another user's identity, after a handled refusal": ("import os\nopen('f', 'w')\ntry:\n    os.chmod('f', 0o4755)\nexcept OSError:\n    pass\nos.setuid(0)\n", [], ["set-user-ID"]),
    "a foreign file, after a handled refusal": ("import os\nopen('f', 'w')\ntry:\n    os.kill(os.getppid(), 0)\nexcept OSError:\n    pass\nos.chown('f', 0, 0)\n", [], ["target"]),
    "an own error": ("raise ValueError('x')\n", [], [";"]),
    "an own permission error": ("raise PermissionError('not for you')\n", [], [";"]),
    "an error after a name lookup": ("import pwd\nlist(pwd.getpwall())\nimport ctypes\nctypes.CDLL(None).getpwnam(b'nobody')\nraise RuntimeError('x')\n", [], [";", "network"]),
    "an own permission error after a name lookup": ("import ctypes\nctypes.CDLL(None).getpwnam(b'nobody')\nraise PermissionError(1, 'Operation not permitted')\n", [], ["network", "unix"]),
    "an error after a handled refusal": ("import socket\ntry:\n    socket.socket()\nexcept OSError:\n    pass\nopen('missing.txt')\n", [], [";", "network"]),
    "a missing file": ("open('/nowhere/x')\n", [], [";"]),
}


@pytest.mark.parametrize("kind", HINTS)
def test_a_refusal_says_what_to_change(podjail, kind):
    source, words, never = HINTS[kind]
    beside = podjail.write("beside.txt", "x")
    there = podjail.write("../unlisted/there", "x")
    podjail.own(there.parent)
    script = podjail.write("script.py", source.replace("{beside!r}", repr(str(beside))).replace("{unlisted}", str(there.resolve().parent)))
    outcome = podjail.run(script, sets=RAW).expect("failed", reason="exception")
    message = outcome.result["message"]
    assert all(word in message for word in words), message
    hint = message[len(outcome.get("script.exception.type")) + 2 + len(outcome.get("script.exception.message")) :]
    assert not any(word in hint for word in never), message


PROGRAMS = {
    "in the work folder": ("open('tool', 'w').write('#!/bin/sh\\n')\nos.chmod('tool', 0o755)\nsubprocess.run(['./tool'])\n", ["work folder", "agent"], ["filesystem.execute"]),
    "without the mode": ("open('tool', 'w').write('#!/bin/sh\\n')\nsubprocess.run(['./tool'])\n", ["chmod +x"], ["agent", "filesystem"]),
    "of the system by its name": ("subprocess.run(['git', '--version'])\n", ["/git", "filesystem.execute"], ["work folder"]),
    "of the system": ("subprocess.run(['/usr/bin/true'])\n", ["filesystem.execute"], ["filesystem.read", "--input"]),
    "by exec": ("os.execv('/usr/bin/true', ['true'])\n", ["filesystem.execute"], ["filesystem.read"]),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_that_may_not_run_says_why(podjail, kind):
    source, words, never = PROGRAMS[kind]
    message = podjail.run("import os, subprocess\n" + source, policy="data", sets=RAW).expect("failed", reason="exception").result["message"]
    assert all(word in message for word in words), message
    assert not any(word in message for word in never), message


INPUTS = {
    "the input folder": ("open(os.environ['PODJAIL_INPUT_DIR'] + '/a.txt', 'w')\n", [], ["read-only", "current folder"]),
    "a new file in it": ("open(os.environ['PODJAIL_INPUT_DIR'] + '/new.txt', 'w')\n", [], ["read-only", "current folder"]),
    "a link to it": ("open('a.txt', 'w')\n", ["--input-mode", "link"], ["--input-mode link", "copies"]),
    "beside the script": ("open(os.path.dirname(__file__) + '/new.txt', 'w')\n", [], ["__file__", "current folder"]),
    "a module beside the script": ("open(os.path.dirname(__file__) + '/mod.py', 'w')\n", [], ["__file__", "current folder"]),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_what_of_the_input_cannot_be_changed_says_what_can(podjail, kind):
    source, options, words = INPUTS[kind]
    podjail.write("task/a.txt", "x")
    podjail.write("task/mod.py", "")
    script = podjail.write("task/main.py", "import os\n" + source)
    outcome = podjail.run(script, options=["--input", podjail.dir / "in/task", *options]).expect("failed", reason="exception")
    message = outcome.result["message"]
    assert all(word in message for word in words), message
    assert "filesystem.write" not in message


def test_a_manager_process_says_that_unix_sockets_are_missing(podjail):
    source = "import multiprocessing\nif __name__ == '__main__':\n    multiprocessing.Manager()\n"
    assert "unix sockets" in podjail.run(source, policy="data", sets=RAW).expect("failed", reason="exception").result["message"]


def test_a_folder_script_does_not_ask_for_what_python3_would_not_find(podjail):
    podjail.write("helper.py", "")
    podjail.write("app/__main__.py", "import helper\n")
    message = podjail.run(podjail.dir / "in/app").expect("failed", reason="exception").result["message"]
    assert "--input" not in message


def test_an_unreadable_workdir_is_named(podjail):
    podjail.write("proj/Makefile", "all:\n")
    outcome = podjail.exec("make", policy="agent", options=["--workdir", podjail.dir / "in/proj"]).expect("failed", reason="exit_code")
    assert "--workdir" in outcome.result["message"] and "filesystem.read" in outcome.result["message"]


def test_a_forged_claim_cannot_make_hints_slow(podjail):
    """Names without end, and each a chain of links."""
    source = (
        "import os, time\ndetour = 'a/../' * 800\nfor i in range(38):\n    os.symlink(detour + f'l{i + 1}', f'l{i}')\nopen('l38', 'w')\nos.mkdir('a')\n"
        "raise PermissionError(\"[Errno 13] Permission denied: \" + \" \".join(\"'l0'\" for _ in range(100000)))\n"
    )
    outcome = podjail.run(source, sets=RAW).expect("failed", reason="exception")
    assert outcome.seconds < 5


def test_an_unlisted_port_is_named(podjail):
    source = "import socket\ns = socket.socket()\ns.connect(('127.0.0.1', 9))\n"
    message = podjail.run(source, sets={**RAW, "network.connect_tcp": [4242]}).expect("failed", reason="exception").result["message"]
    assert "network.connect_tcp" in message


def test_a_listed_folder_with_another_owner_is_no_matter_of_the_policy(podjail):
    """Under filesystem.write, but its own permissions refuse."""
    folder = podjail.dir / "shared"
    folder.mkdir(mode=0o755)
    if os.geteuid() != 0:
        folder.chmod(0o555)
    source = f"open({str(folder / 'x')!r}, 'w')\n"
    message = podjail.run(source, sets={**RAW, "filesystem.write": [str(folder)]}).expect("failed", reason="exception").result["message"]
    assert "filesystem" not in message
