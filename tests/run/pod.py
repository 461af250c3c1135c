"""Pods as clusters give them, without a cluster: containerd's own RuntimeDefault profile and mounts, uid 1000, no capabilities, no_new_privs, a read-only
root, masked /proc, and the program as PID 1, by runc. Needs root, runc, containerd and ctr.
"""

import copy
import functools
import hashlib
import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

SYSTEM = ("usr", "lib", "lib64", "etc")  # the image: this machine's own, read-only


def lacking():
    """Why no pod can be made here; empty when one can."""
    if os.geteuid() != 0:
        return "needs root to start a container runtime"
    missing = [name for name in ("runc", "containerd", "ctr") if shutil.which(name) is None]
    return f"needs {', '.join(missing)}" if missing else ""


def empty_image():
    """A docker-archive with nothing but the mount points (Docker image specification v1.2)."""

    def archive(entries):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as tar:
            for name, data in entries:
                info = tarfile.TarInfo(name)
                if data is None:
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                else:
                    info.size = len(data)
                tar.addfile(info, io.BytesIO(data or b""))
        return raw.getvalue()

    layer = archive([(name, None) for name in SYSTEM])
    rootfs = {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": ["podjail.test/empty:1"], "Layers": ["layer.tar"]}]).encode()
    return archive([("layer.tar", layer), ("config.json", config), ("manifest.json", manifest)])


def bind(source, target, *options):
    return {"type": "bind", "source": str(source), "destination": str(target), "options": ["rbind", *options]}


@functools.cache
def default_spec():
    """The OCI runtime specification that containerd writes for a container with its default seccomp profile. Starts a containerd of its own and ends it."""
    with tempfile.TemporaryDirectory(prefix="podjail-ctr-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "image.tar").write_bytes(empty_image())
        (folder / "containerd.toml").write_text(
            f'version = 2\nroot = "{folder}/root"\nstate = "{folder}/state"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{folder}/socket"\n'
        )
        ctr = ["ctr", "--address", f"{folder}/socket"]
        container = f"podjail-spec-{os.getpid()}"  # runc's state folder is every containerd's
        with (folder / "log").open("wb") as log:
            # In namespaces of its own, which end with it: its shims would become orphans that the tests adopt, its mounts would stay.
            alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
            daemon = subprocess.Popen([*alone, "containerd", "--config", folder / "containerd.toml"], stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while subprocess.run([*ctr, "version"], capture_output=True, timeout=10).returncode != 0:
                assert daemon.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.05)

            def call(*argv, check=True):
                end = subprocess.run([*ctr, *argv], capture_output=True, text=True, timeout=60)
                assert not check or end.returncode == 0, f"ctr {' '.join(argv)}: {end.stderr}"

            call("images", "import", "--snapshotter", "native", f"{folder}/image.tar")
            mounts = [part for name in SYSTEM for part in ("--mount", f"type=bind,src=/{name},dst=/{name},options=rbind:ro")]
            call("run", "--detach", "--snapshotter", "native", "--seccomp", "--null-io", *mounts, "podjail.test/empty:1", container, "/usr/bin/sleep", "60")
            try:
                (written,) = (folder / "state").rglob("config.json")
                return json.loads(written.read_text())
            finally:
                call("task", "delete", "--force", container, check=False)
                call("container", "delete", container, check=False)
        finally:
            for child in Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)  # the namespaces' init; unshare reaps it and ends
            daemon.wait(30)


class Pod:
    """How one kind of pod is started. `profile` False: Pod Security `restricted` satisfied by a Localhost profile that allows everything."""

    def __init__(self, base, profile=True, volumes=(), read_only=(), uid=1000, gid=1000):
        self.folder = Path(tempfile.mkdtemp(prefix="podjail-pod-", dir="/tmp"))
        self.numbers = itertools.count()
        rootfs = self.folder / "rootfs"
        rootfs.mkdir()
        for name in (*SYSTEM, "proc", "dev", "sys", "run", "tmp"):
            (rootfs / name).mkdir()
        for name in ("bin", "sbin"):  # as images of a merged /usr have them
            (rootfs / name).symlink_to(f"usr/{name}")
        (rootfs / "tmp").chmod(0o1777)  # a tmpfs gets the mode of the folder that it covers (runc, mountToRootfs)
        spec = copy.deepcopy(default_spec())
        spec["root"] = {"path": str(rootfs), "readonly": True}
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["destination"].lstrip("/") not in SYSTEM]
        spec["mounts"] += [bind(f"/{name}", f"/{name}", "ro") for name in SYSTEM]
        # /tmp as an emptyDir; what lies below it comes after it.
        spec["mounts"].append({"type": "tmpfs", "source": "tmpfs", "destination": "/tmp", "options": ["nosuid", "nodev", "mode=1777"]})
        spec["mounts"] += [bind(path, path, "ro") for path in read_only]
        spec["mounts"] += [bind(path, path, "rw") for path in (base, *volumes)]
        spec["process"] |= {"user": {"uid": uid, "gid": gid}, "noNewPrivileges": True, "capabilities": {}, "rlimits": [], "terminal": False}
        spec["linux"].pop("cgroupsPath", None)
        spec["linux"].pop("resources", None)
        if not profile:
            del spec["linux"]["seccomp"]
        self.spec = spec

    def command(self, argv, environment, cwd):
        """The command line that runs `argv` as PID 1 of a new container; its exit code is the program's own, signals sent to it reach the program."""
        name = f"pod-{os.getpid()}-{next(self.numbers)}"
        bundle = self.folder / name
        bundle.mkdir()
        process = self.spec["process"] | {"args": [os.fsdecode(a) for a in argv], "env": [f"{k}={v}" for k, v in environment.items()], "cwd": str(cwd)}
        (bundle / "config.json").write_text(json.dumps(self.spec | {"process": process}))
        return ["runc", "--root", f"{self.folder}/state", "run", "--bundle", str(bundle), name]

    def run(self, argv, environment=None, cwd="/", timeout=120):
        environment = environment or {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        return subprocess.run(self.command(argv, environment, cwd), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
