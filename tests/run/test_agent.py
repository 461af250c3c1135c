"""What agents and builds do under `agent`: own programs, terminals, sockets."""

import os
import pty
import shutil
import socket
import subprocess

import harness
import pytest

RAW = {"validation.enabled": False}

PROGRAMS = {
    "script": "printf '#!/bin/sh\\necho hi $1\\n' > tool && chmod +x tool && ./tool you",
    "by path": "printf '#!/bin/sh\\necho hi\\n' > $TMPDIR/tool && chmod +x $TMPDIR/tool && $TMPDIR/tool",
    "on PATH": "mkdir bin && printf '#!/bin/sh\\necho hi\\n' > bin/tool && chmod +x bin/tool && PATH=$PWD/bin:$PATH tool",
    "in HOME": "mkdir -p ~/.local/bin && cp /usr/bin/true ~/.local/bin/mine && ~/.local/bin/mine && echo hi",
    "compiled": "printf 'int main(void){return 0;}' > a.c && gcc a.c && ./a.out && echo hi",
    "a venv": "/usr/bin/python3.11 -m venv --without-pip v && v/bin/python -c 'print(\"hi\")'",
    "python's shebang": "printf '#!/usr/bin/env python3.11\\nprint(\"hi\")\\n' > t && chmod +x t && ./t",
    "configure": "printf '#!/bin/sh\\ncat > config.status <<E\\n#!/bin/sh\\necho hi\\nE\\nchmod +x config.status; ./config.status\\n' > configure && chmod +x configure && ./configure",
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_programs_of_the_work_folder_run(podjail, kind):
    if kind == "compiled":
        harness.need("gcc", shutil.which("gcc"), "needs gcc")
    outcome = podjail.exec("/bin/sh", "-ec", PROGRAMS[kind], policy="agent").expect("succeeded")
    assert outcome.out.startswith(b"hi"), outcome.describe()


def test_programs_of_the_work_folder_do_not_run_under_other_policies(podjail):
    source = "import os, subprocess\nopen('tool', 'w').write('#!/bin/sh\\n')\nos.chmod('tool', 0o755)\nsubprocess.run(['./tool'])\n"
    outcome = podjail.run(source, policy="data", sets=RAW).expect("failed", reason="exception")
    assert outcome.get("script.exception.type") == "PermissionError"


TERMINALS = {
    "openpty": "import os\nm, s = os.openpty()\nos.write(s, b'out')\nprint(os.read(m, 10), os.isatty(s), os.ttyname(s).startswith('/dev/pts/'))\n",
    "fork": (
        "import os, pty\npid, fd = pty.fork()\nif pid == 0:\n    print(os.isatty(0), os.tcgetpgrp(0) == os.getpgrp(), open('/dev/tty').isatty(), flush=True)\n    os._exit(3)\n"
        "out = b''\nwhile True:\n    try:\n        piece = os.read(fd, 1000)\n    except OSError:\n        break\n    if not piece:\n        break\n    out += piece\n"
        "print(out, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    ),
    "size and modes": (
        "import fcntl, os, struct, termios, tty\nm, s = os.openpty()\nfcntl.ioctl(m, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 120, 0, 0))\n"
        "tty.setraw(s)\nprint(os.get_terminal_size(s), termios.tcgetattr(s)[3] & termios.ECHO)\ntermios.tcdrain(s)\ntermios.tcflush(s, termios.TCIOFLUSH)\n"
    ),
    "many": "import os\npairs = [os.openpty() for _ in range(20)]\nprint(len({os.ttyname(s) for _, s in pairs}))\n",
    "a shell with job control": (
        "import os, pty\npid, fd = pty.fork()\nif pid == 0:\n    os.execv('/bin/bash', ['bash', '--norc', '-ic', 'sleep 0.1 & wait; stty size >/dev/null && echo ok'])\n"
        "out = b''\nwhile True:\n    try:\n        out += os.read(fd, 1000)\n    except OSError:\n        break\nos.waitpid(pid, 0)\nprint(b'ok' in out, b'job control' in out)\n"
    ),
}


@pytest.mark.parametrize("kind", TERMINALS)
def test_pseudo_terminals_work_as_with_python3(podjail, kind):
    script = podjail.write("script.py", TERMINALS[kind])
    harness.need("pty", _terminals_here(), "this user can't make pseudo terminals here")
    plain = subprocess.run([*harness.as_user(), harness.PYTHON, script], capture_output=True, check=True, start_new_session=True)
    assert podjail.run(script, policy="agent").expect("succeeded").out == plain.stdout


def _terminals_here():
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("kind", TERMINALS)
def test_pseudo_terminals_work_in_a_restricted_pod(make_pod, binary, base, kind):
    jail = harness.Podjail(binary, base, pod=make_pod("restricted"))
    try:
        source = TERMINALS[kind].replace("/bin/bash", "/usr/bin/bash")
        assert jail.run(source, policy="agent").expect("succeeded").out
    finally:
        jail.remove()


def test_script_works(podjail):
    harness.need("script", shutil.which("script"), "needs util-linux's script")
    outcome = podjail.exec("script", "-qec", "tty; stty size", "/dev/null", policy="agent").expect("succeeded")
    assert outcome.out.startswith(b"/dev/pts/"), outcome.describe()


@pytest.mark.claim("C-01")
def test_others_terminals_are_out_of_reach(podjail):
    """By path, and by the number of a descriptor that is none of a terminal's. The terminal belongs to the script's own user."""
    harness.need("terminals", podjail.pod is None, "a pod has terminals of its own")
    master, slave = pty.openpty()
    try:
        name = os.ttyname(slave)
        os.chown(name, podjail.uid, podjail.gid)
        source = (
            f"import fcntl, os, termios\nfor flags in (os.O_RDWR, os.O_RDONLY, os.O_WRONLY):\n    try:\n        os.open({name!r}, flags | os.O_NOCTTY)\n        print('OPENED')\n"
            "    except OSError as e:\n        print(e.errno)\n"
            "m, s = os.openpty()\nfor fd in (s, os.open('/dev/null', os.O_RDWR), os.pipe()[0], 99):\n    try:\n        fcntl.ioctl(fd, 0x5441, os.O_RDWR)\n        print('GIVEN')\n"
            "    except OSError as e:\n        print(e.errno)\n"
            f"try:\n    print(os.listdir('/dev/pts'))\nexcept OSError as e:\n    print(e.errno)\n"
        )
        assert podjail.run(source, policy="agent").expect("succeeded").out == b"13\n13\n13\n25\n25\n25\n25\n13\n"
    finally:
        os.close(master)
        os.close(slave)


def test_a_terminal_cannot_be_typed_into(podjail):
    source = "import fcntl, os, termios\nm, s = os.openpty()\ntry:\n    fcntl.ioctl(s, termios.TIOCSTI, b'x')\n    print('TYPED')\nexcept OSError as e:\n    print(e.errno)\n"
    outcome = podjail.run(source, policy="agent").expect("succeeded")
    assert outcome.out == b"1\n" and outcome.violation("ioctl")["detail"] == "TIOCSTI"


def test_what_runs_on_a_terminal_ends_with_the_run(podjail):
    source = (
        "import os, pty, time\npid, fd = pty.fork()\nif pid == 0:\n    os.execv('/bin/sh', ['sh', '-c', 'trap \"\" HUP TERM; sleep 1000'])\ntime.sleep(0.3)\nprint('left')\n"
    )
    assert podjail.run(source, policy="agent").expect("succeeded").out == b"left\n"


PAIRS = {"stream": "SOCK_STREAM", "seqpacket": "SOCK_SEQPACKET"}


@pytest.mark.parametrize("policy", ["default", "agent"])
@pytest.mark.parametrize("kind", PAIRS)
def test_socket_pairs_work(podjail, kind, policy):
    source = (
        f"import array, os, socket\na, b = socket.socketpair(socket.AF_UNIX, socket.{PAIRS[kind]})\na.send(b'one'); a.send(b'two')\nprint(b.recv(3), b.recv(3))\n"
        "r, w = os.pipe()\nsocket.send_fds(a, [b'fd'], [w])\n_, fds, _, _ = socket.recv_fds(b, 10, 1)\nos.write(fds[0], b'through')\nprint(os.read(r, 10))\n"
    )
    assert podjail.run(source, policy=policy, sets=RAW).expect("succeeded").out == b"b'one' b'two'\nb'through'\n"


@pytest.mark.claim("C-04")
@pytest.mark.parametrize("kind", PAIRS)
def test_a_socket_pair_reaches_no_other_socket(podjail, kind):
    """Neither end can be connected, or sent from, to a socket of the file system."""
    path = podjail.dir / "in/daemon"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as daemon, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        daemon.bind(str(path))
        daemon.listen()
        datagrams.bind(f"{path}-dgram")
        podjail.own(podjail.dir / "in")
        source = (
            f"import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.{PAIRS[kind]})\nfor target in ({str(path)!r}, {str(path) + '-dgram'!r}):\n"
            "    for attack in (lambda: a.connect(target), lambda: a.sendto(b'x', target), lambda: a.sendmsg([b'x'], [], 0, target)):\n"
            "        try:\n            attack()\n        except OSError as e:\n            print(type(e).__name__)\nprint(\"done\")\n"
        )
        podjail.run(source, policy="agent", sets=RAW)
        daemon.setblocking(False)
        datagrams.setblocking(False)
        with pytest.raises(BlockingIOError):
            daemon.accept()
        with pytest.raises(BlockingIOError):
            datagrams.recv(10)


WATCHED = {
    "a worker that ended": (
        "import os\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.kill(pid, 0)\nos.waitpid(pid, 0)\n"
        "try:\n    os.kill(pid, 0)\nexcept ProcessLookupError:\n    print('gone')\n"
    ),
    "a limit of one that ended": (
        "import os, resource\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\n"
        "try:\n    resource.prlimit(pid, resource.RLIMIT_CPU, (5, 5))\nexcept ProcessLookupError:\n    print('gone')\n"
    ),
    "a group that ended": (
        "import os\npid = os.fork()\nif pid == 0:\n    os.setpgid(0, 0)\n    os._exit(0)\nos.waitpid(pid, 0)\n"
        "try:\n    os.killpg(pid, 15)\nexcept ProcessLookupError:\n    print('gone')\n"
    ),
    "a group whose leader ended": (
        "import os, signal, time\nr, w = os.pipe()\npid = os.fork()\nif pid == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.close(r)\n        time.sleep(60)\n    os._exit(0)\n"
        "os.close(w)\nos.waitpid(pid, 0)\nos.killpg(pid, signal.SIGKILL)\nprint(os.read(r, 1) == b'' and 'gone')\n"
    ),
}


@pytest.mark.parametrize("policy", ["data", "agent"])
@pytest.mark.parametrize("kind", WATCHED)
def test_who_watches_workers_sees_their_end(podjail, kind, policy):
    """Also a group's that outlived its leader, as a shell's pipeline does."""
    outcome = podjail.run(WATCHED[kind], policy=policy, sets=RAW).expect("succeeded")
    plain = subprocess.run([*harness.as_user(), harness.PYTHON, podjail.write("plain.py", WATCHED[kind])], capture_output=True, check=True)
    assert outcome.out == plain.stdout == b"gone\n"
    assert outcome.result["violations"] == []


def test_a_program_beside_the_script_and_in_the_input_runs(podjail):
    """`subprocess.run([Path(__file__).parent / "tool"])`."""
    folder = podjail.dir / "tools"
    folder.mkdir()
    (folder / "tool").write_text("#!/bin/sh\necho hi\n")
    (folder / "tool").chmod(0o755)
    (folder / "main.py").write_text(
        "import os, subprocess\nfor folder in (os.path.dirname(__file__), os.environ['PODJAIL_INPUT_DIR'], '.'):\n    subprocess.run([folder + '/tool'], check=True)\n"
    )
    podjail.own(folder)
    assert podjail.run(folder / "main.py", options=["--input", folder], policy="agent").expect("succeeded").out == b"hi\nhi\nhi\n"
