"""Calls that programs try first: refused with the errno that leads them to what works without."""

import errno
import os
import shutil
import subprocess

import harness
import pytest

RAW = {"validation.enabled": False}

# What a tool does -> the command; nothing on stderr, exit code 0, as outside.
TOOLS = {
    "cp -p": "cp -p a.conf b.conf",
    "cp -a": "cp -a tree copy",
    "cp --reflink=auto": "cp --reflink=auto a.conf b.conf",
    "cp -a onto itself's copy": "cp -a tree c && cp -aT tree c",
    "install": "install -m 755 a.conf c.conf && install -d -m 750 dir && install -p a.conf d.conf",
    "install -o": "install -o $(id -u) -g $(id -g) a.conf d.conf",
    "chown to oneself": "chown $(id -u):$(id -g) a.conf && chown -R $(id -u) tree && chgrp $(id -g) a.conf",
    "sed -i": "sed -i s/1/2/ a.conf",
    "tar": "tar -cf t.tar tree && mkdir x && tar -xpf t.tar -C x",
    "tar --acls": "tar --acls --xattrs -cf t.tar tree && mkdir x && tar --acls --xattrs -xpf t.tar -C x 2> /dev/null",
    "mv to another name": "mv a.conf $TMPDIR/b.conf && mv -n $TMPDIR/b.conf a.conf",
    "sync": "sync && sync a.conf && sync -f a.conf",
    "fallocate": "fallocate -l 64k f && fallocate -d f && truncate -s 0 f",
    "nice and friends": "nice true && ionice true && taskset 1 true && chrt -o 0 true && flock a.conf true",
    "make install": "printf 'install:\\n\\tinstall -d $(DESTDIR)/bin\\n\\tinstall -m 755 a.conf $(DESTDIR)/bin/tool\\n' > Makefile && make -s install DESTDIR=root",
    "patch": "printf 'port=2\\n' > n && (diff -u a.conf n > p; patch -s a.conf p)",
    "git": "git init -q g && cd g && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m x && git gc -q",
    "a lock and a temporary": "mktemp -d > /dev/null && ln a.conf l1 && ln -s a.conf l2",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_of_builds_and_agents_work(podjail, tool):
    program = TOOLS[tool].split()[0]
    harness.need(program, shutil.which(program), f"needs {program}")
    made = "printf 'port=1\\n' > a.conf; chmod 640 a.conf; mkdir tree; echo x > tree/x; chmod 750 tree; "
    outcome = podjail.exec("/bin/sh", "-c", made + TOOLS[tool], policy="agent")
    assert (outcome.status, outcome.text) == ("succeeded", ""), outcome.describe()


# Python expression that fails -> errno. As a file system or kernel without the feature.
ANSWERS = {
    "os.setxattr('f', 'user.a', b'1')": errno.EOPNOTSUPP,
    "os.setxattr('f', 'user.a', b'1', follow_symlinks=False)": errno.EOPNOTSUPP,
    "os.setxattr(open('f').fileno(), 'user.a', b'1')": errno.EOPNOTSUPP,
    "os.removexattr('f', 'user.a')": errno.EOPNOTSUPP,
    "os.removexattr('f', 'user.a', follow_symlinks=False)": errno.EOPNOTSUPP,
    "os.setxattr(os.environ['PODJAIL_OUTPUT_DIR'], 'system.posix_acl_default', b'')": errno.EOPNOTSUPP,
    "__import__('fcntl').ioctl(open('f'), 0x40049409, 0)": errno.ENOTTY,  # FICLONE
    "__import__('fcntl').ioctl(open('f'), 0x80086601, bytes(8))": errno.ENOTTY,  # FS_IOC_GETFLAGS
    "__import__('fcntl').ioctl(0, 0x5410, 0)": errno.ENOTTY,  # TIOCSPGRP
    "os.tcgetpgrp(0)": errno.ENOTTY,
    "__import__('fcntl').fcntl(0, 1027, 0)": errno.EINVAL,  # F_DUPFD_QUERY, Linux 6.10
}


@pytest.mark.parametrize("call", ANSWERS)
def test_a_refusal_looks_like_a_missing_feature(podjail, call):
    source = f"import os\nopen('f', 'w').close()\ntry:\n    {call}\n    print('through')\nexcept OSError as e:\n    print(e.errno)\n"
    outcome = podjail.run(source, sets=RAW).expect("succeeded")
    assert outcome.out == f"{ANSWERS[call]}\n".encode()
    assert outcome.result["violations"] == []


def test_python_reads_the_answers_as_its_fallbacks_do(podjail):
    """shutil keeps what it can; becoming oneself works; prctl's unknown names are unknown."""
    source = (
        "import ctypes, os, shutil\nos.mkdir('d')\nopen('d/x', 'w').close()\nos.chmod('d', 0o750)\n"
        "shutil.copytree('d', 'e')\nshutil.copystat('d/x', 'e/x')\nshutil.copy2('d/x', 'y')\nprint(oct(os.stat('e').st_mode & 0o7777))\n"
        "os.setuid(os.getuid()); os.setgid(os.getgid()); os.setresuid(-1, -1, -1); os.chown('y', os.getuid(), os.getgid())\n"
        "libc = ctypes.CDLL(None, use_errno=True)\nprint(libc.prctl(0x7777), ctypes.get_errno(), libc.sync())\nos.sync()\n"
    )
    assert podjail.run(source, sets=RAW).expect("succeeded").out == b"0o750\n-1 22 0\n"


def test_no_identity_can_be_taken(podjail):
    source = (
        "import os\nfor call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setresuid(4242, 4242, 4242), lambda: os.chown('f', 4242, -1)):\n"
        "    open('f', 'w').close()\n    try:\n        call()\n        print('changed')\n    except PermissionError:\n        print('refused')\n"
    )
    assert podjail.run(source, sets=RAW).expect("succeeded").out == b"refused\n" * 4


def test_folders_of_a_volume_with_a_group_can_be_copied(podjail):
    """fsGroup puts set-group-ID on the volume's folders, and new ones inherit it; copying their mode must not fail."""
    volume = podjail.dir / "vol"
    volume.mkdir()
    podjail.own(volume)
    volume.chmod(0o2775)
    source = "import os, shutil\nos.mkdir('d')\nshutil.copytree('d', 'e')\nprint(oct(os.stat('d').st_mode & 0o7000))\n"
    assert podjail.run(source, env={"PODJAIL_SCRATCH": str(volume)}).expect("succeeded").out == b"0o0\n"
    assert os.listdir(volume) == []


@pytest.mark.claim("C-14")
def test_no_acl_can_be_put_on_the_result_folder(podjail):
    """A default ACL there would give podjail's next file its mode."""
    out = podjail.out()
    acl = "bytes.fromhex('0200000001000000ffffffff04000000ffffffff20000000ffffffff')"
    source = f"import os\nfor name in ('system.posix_acl_default', 'system.posix_acl_access', 'user.x'):\n    try:\n        os.setxattr({str(out)!r}, name, {acl})\n        print('set')\n    except OSError as e:\n        print(e.errno)\n"
    outcome = podjail.run(source, sets=RAW, out=out).expect("succeeded")
    assert outcome.out == f"{errno.EOPNOTSUPP}\n".encode() * 3
    listed = subprocess.run([harness.PYTHON, "-c", f"import os; print(os.listxattr({str(out)!r}))"], capture_output=True, check=True).stdout
    assert b"posix_acl" not in listed


def test_a_whiteout_can_not_be_made(podjail):
    """RENAME_WHITEOUT leaves a device node behind, which Landlock does not see."""
    source = (
        "import ctypes, os\nopen('f', 'w').close()\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.renameat2(-100, b'f', -100, b'g', 4), ctypes.get_errno(), os.path.exists('f'))\n"
    )
    assert podjail.run(source, sets=RAW).expect("succeeded").out == b"-1 22 True\n"
