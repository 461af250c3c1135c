"""Tries what a hostile upload would try, says how each attempt ended, and finishes with a memory bomb."""

import os
import resource
import signal
import socket

supervisor = os.getppid()


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.connect(address)


def fork():
    if os.fork() == 0:
        os._exit(0)


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def write(path):
    with open(path, "ab") as file:
        file.write(b"x")


attempts = [
    ("read /etc/shadow", lambda: read("/etc/shadow")),
    ("read another process's environment", lambda: read(f"/proc/{supervisor}/environ")),
    ("read the supervisor's memory", lambda: read(f"/proc/{supervisor}/mem")),
    ("write below /usr", lambda: write("/usr/lib/python3/planted.py")),
    ("rewrite its own checked source", lambda: write(__file__)),
    ("open a TCP connection", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 80))),
    ("send a UDP packet", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53))),
    ("open a unix socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "/run/containerd/containerd.sock")),
    ("terminate the supervisor", lambda: os.kill(supervisor, signal.SIGTERM)),
    ("kill every process of this user", lambda: os.kill(-1, signal.SIGKILL)),
    ("forbid the supervisor to write files", lambda: resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, 0))),
    ("start a process", fork),
    ("become another program", lambda: os.execv("/bin/sh", ["sh", "-c", "echo out"])),
]

through = 0
for what, attempt in attempts:
    try:
        attempt()
    except OSError as error:
        print(f"  refused  {what}: {error.strerror}", flush=True)
    else:
        through += 1
        print(f"  THROUGH  {what}", flush=True)

if through:
    raise SystemExit(99)

print("  and now 8 GiB of memory", flush=True)
hoard = []
for _ in range(512):
    hoard.append(bytearray(b"x") * (16 * 1024 * 1024))
print("  THROUGH  8 GiB held")
