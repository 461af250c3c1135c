"""Runs the built podjail as an ordinary user with no_new_privs and checks what must hold after every run: a result that the schema accepts and that agrees
with the exit code and the files beside it, no process left, no scratch left.
"""

import ctypes
import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3.11"
UID = os.geteuid() or 1000  # root runs the tests as uid 1000, which needs no passwd entry
GID = os.getegid() or 1000
TIMEOUT = 60

EXIT_CODES = {
    "succeeded": 0,
    "failed": 1,
    "rejected": 65,
    "invalid_input": 66,
    "internal_error": 70,
    "cancelled": 75,
    "interrupted": 76,
    "isolation_unavailable": 77,
    "invalid_policy": 78,
    "timed_out": 80,
    "cpu_exceeded": 81,
    "memory_exceeded": 82,
    "processes_exceeded": 83,
    "disk_exceeded": 84,
    "output_exceeded": 85,
    "killed": 86,
}
SECTIONS = (
    "schema status retry_safe reason observed message run script exit policy validation isolation violations limits usage stdout stderr artifacts "
    "timings supervisor signature"
).split()
NEVER_STARTED = {"rejected", "invalid_input", "isolation_unavailable", "invalid_policy"}


def need(facility, present, reason):
    """Skips where the machine lacks `facility`, unless PODJAIL_MUST_HAVE names it."""
    if present:
        return
    if facility in os.environ.get("PODJAIL_MUST_HAVE", "").split(","):
        pytest.fail(f"PODJAIL_MUST_HAVE names {facility}: {reason}")
    pytest.skip(reason)


def as_user(uid=UID, gid=GID):
    """The command prefix that drops privileges; execs, so the PID stays."""
    drop = ["--reuid", str(uid), "--regid", str(gid), "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *drop, "--no-new-privs", "--"]


def adopt_orphans():
    """Makes this process the subreaper: what a run leaves behind becomes our child and is seen."""
    pr_set_child_subreaper = 36
    assert ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0) == 0


def children():
    """pid -> "comm state" of this process's children, zombies too."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text(errors="replace")
            except OSError:
                continue
            comm, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
            if int(rest[1]) == os.getpid():
                found[int(entry)] = f"{comm} {rest[0]}"
    return found


@functools.cache
def result_validator():
    schema = json.loads((ROOT / "policies/schema/result.v1.json").read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def strict_json(data):
    """Parses like a strict reader: no duplicate keys, no NaN, no lone surrogates."""

    def pairs(items):
        keys = [key for key, _ in items]
        assert len(keys) == len(set(keys)), f"duplicate keys: {keys}"
        return dict(items)

    def constant(name):
        raise AssertionError(f"not JSON: {name}")

    value = json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # a lone surrogate can't be encoded
    return value


def dig(value, path):
    """dig(result, "validation.findings[0].line"); None where the path ends early."""
    for step in path.replace("[", ".[").split("."):
        if value is None:
            return None
        if step.startswith("["):
            index = int(step[1:-1])
            value = value[index] if index < len(value) else None
        else:
            value = value.get(step)
    return value


def check_result(result, out):
    """What holds for every final record."""
    problems = [f"{error.json_path}: {error.message}" for error in result_validator().iter_errors(result)]
    assert not problems, "result.json against result.v1.json:\n" + "\n".join(problems)
    assert [name for name in SECTIONS if name not in result] == []
    status = result["status"]
    assert status == "running" or status in EXIT_CODES
    if status == "running":
        return
    assert status == "succeeded" or result["message"], f"{status} without a message"
    assert status == "succeeded" or result["reason"], f"{status} without a reason"
    if status in NEVER_STARTED:
        assert result["retry_safe"] is True
        assert result["exit"]["code"] is None and result["exit"]["signal"] is None
    for name in ("stdout", "stderr"):
        stream, file = result[name], out / f"{name}.log"
        if not stream or stream.get("file") is None:
            continue
        data = file.read_bytes()
        assert stream["kept"] <= stream["bytes"]
        assert stream["truncated"] == (stream["kept"] < stream["bytes"])
        if not stream["truncated"]:
            assert len(data) == stream["bytes"]
            assert hashlib.sha256(data).hexdigest() == stream["sha256"]
    artifacts = result["artifacts"]
    if artifacts:
        totals = artifacts["totals"]
        assert totals["kept"] == len(artifacts["files"]) and totals["found"] == totals["kept"] + totals["refused"], totals
        assert len(artifacts["refused"]) == min(totals["refused"], 1000), totals
    for entry in (result["artifacts"] or {}).get("files", []):
        data = (out / "artifacts" / entry["path"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["bytes"], entry["sha256"])


@dataclass
class Outcome:
    """How one call of podjail ended."""

    argv: list
    code: int  # as subprocess has it: -N for a signal
    out: bytes
    err: bytes
    seconds: float
    folder: Path  # of the result
    result: dict | None = None
    left: dict = field(default_factory=dict)

    @property
    def text(self):
        return self.err.decode("utf-8", "replace")

    @property
    def status(self):
        return self.result["status"] if self.result else None

    @property
    def stdout(self):
        return (self.folder / "stdout.log").read_bytes()

    @property
    def stderr(self):
        return (self.folder / "stderr.log").read_bytes().decode("utf-8", "replace")

    def get(self, path):
        return dig(self.result, path)

    def violation(self, what):
        return next((v for v in self.result["violations"] if v["what"] == what), None)

    def expect(self, status, reason=None, code=None, supervisor=None):
        """The heart of most tests; on failure shows the whole run."""
        seen = (self.status, self.result and self.result["reason"] if reason else None, self.code)
        assert seen == (status, reason, EXIT_CODES[status] if supervisor is None else supervisor), self.describe()
        if code is not None:
            assert self.get("exit.code") == code, self.describe()
        return self

    def describe(self):
        shown = {key: self.result[key] for key in ("status", "reason", "message", "exit", "violations")} if self.result else None
        if self.result:
            shown["exception"] = dig(self.result, "script.exception")
            shown["findings"] = dig(self.result, "validation.findings")
        return f"{' '.join(map(str, self.argv))}\nexit {self.code} after {self.seconds:.2f} s\n{json.dumps(shown, indent=1)}\nstdout: {self.out[-1500:]!r}\nstderr: {self.text[-3000:]}"


class Podjail:
    """One test's folder, owned by the ordinary user, and podjail within it: on this machine, or as PID 1 of `pod` (of pod.py)."""

    def __init__(self, binary, base, uid=UID, gid=GID, pod=None):
        self.binary, self.uid, self.gid, self.pod = binary, uid, gid, pod
        self.dir = Path(tempfile.mkdtemp(dir=base))
        self.runs = 0
        self.running = []
        os.chmod(self.dir, 0o755)
        for name in ("in", "tmp", "home"):
            (self.dir / name).mkdir()
        self.own(self.dir)

    def own(self, path):
        """Hands a tree to the ordinary user."""
        if os.geteuid() == 0:
            for base, folders, files in os.walk(path):
                for name in [base, *(os.path.join(base, n) for n in folders + files)]:
                    os.chown(name, self.uid, self.gid, follow_symlinks=False)

    def write(self, name, content, mode=0o644):
        """A file below in/; returns its path."""
        path = self.dir / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        path.chmod(mode)
        self.own(self.dir / "in")
        return path

    def policy(self, content, name="policy.json"):
        """A policy file over `default`."""
        return self.write(f"../{name}", json.dumps({"schema": "podjail.policy/v1", "name": "test", "extends": "default", **content}))

    def environment(self, extra=None):
        base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self.dir / "home"), "TMPDIR": str(self.dir / "tmp")}
        return {key: value for key, value in {**base, **(extra or {})}.items() if value is not None}

    def start(self, *argv, env=None, clean_env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=None):
        """Starts podjail with these arguments. `env` adds to the environment (None removes), `clean_env` is the whole of it."""
        argv = [argument if isinstance(argument, bytes) else str(argument) for argument in argv]
        command, environment = [str(self.binary), *argv], self.environment(env)
        if self.pod:
            command, environment = self.pod.command(command, environment if clean_env is None else clean_env, cwd or self.dir), None
        else:
            clean = ["env", "-i", *(f"{k}={v}" for k, v in clean_env.items())] if clean_env is not None else []
            command = [*as_user(self.uid, self.gid), *clean, *command]
        process = subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, cwd=cwd or self.dir, start_new_session=True
        )
        process.started = time.monotonic()
        process.podjail_argv = ["podjail", *argv]
        self.running.append(process)
        return process

    def finish(self, process, input=None, timeout=TIMEOUT, folder=None, check=True):
        """Waits, gathers, and checks what must hold after every run."""
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            self.reap()
            out, err = process.communicate()
            pytest.fail(f"{process.podjail_argv} did not end within {timeout} s\nstdout: {out[-2000:]!r}\nstderr: {err[-4000:]!r}")
        seconds = time.monotonic() - process.started
        self.running.remove(process)
        folder = Path(folder) if folder else self.dir / "podjail-out"
        left = self.reap(process.returncode == -signal.SIGKILL)
        outcome = Outcome(process.podjail_argv, process.returncode, out or b"", err or b"", seconds, folder, left=left)
        record = folder / "result.json"
        if record.exists():
            outcome.result = strict_json(record.read_bytes())
        if check:
            assert not left, f"left behind: {left}\n{outcome.describe()}"
            assert os.listdir(self.dir / "tmp") == [], f"scratch left behind: {os.listdir(self.dir / 'tmp')}"
            if outcome.result:
                check_result(outcome.result, folder)
                allowed = {"result.json", "stdout.log", "stderr.log", "artifacts"}
                assert set(os.listdir(folder)) <= allowed, f"--out holds {os.listdir(folder)}"
        return outcome

    def reap(self, killed=False):
        """Children that are not ours: what podjail left. Kills and reaps them. A killed podjail's tree gets a moment to die of it."""
        known = {process.pid for process in self.running}
        deadline = time.monotonic() + (2 if killed else 0)
        while True:
            left = {pid: what for pid, what in children().items() if pid not in known}
            for pid in [pid for pid, what in left.items() if killed and what.endswith(" Z")]:
                os.waitpid(pid, 0)
                del left[pid]
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        return left

    def cli(self, *argv, input=None, timeout=TIMEOUT, folder=None, **options):
        """Any command line; `folder` is its --out, where that is not ./podjail-out."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*argv, **options), input, timeout, folder)

    def out(self):
        self.runs += 1
        return self.dir / f"out{self.runs}"

    def options(self, out, sets=None, policy=None):
        options = ["--quiet", "--out", out]
        if policy:
            options += ["--policy", policy]
        for name, value in (sets or {}).items():
            options += ["--set", f"{name.replace('__', '.')}={value if isinstance(value, str) else json.dumps(value)}"]
        return options

    def run(self, script, *args, options=(), sets=None, policy=None, input=None, timeout=TIMEOUT, out=None, **start):
        """`podjail run`. `script` is a Path, or source text for in/script.py; `sets` are --set values."""
        if isinstance(script, (str, bytes)):
            script = self.write("script.py", script)
        out = out or self.out()
        if input is not None:
            start.setdefault("stdin", subprocess.PIPE)
            options = ["--stdin", *options]
        process = self.start("run", *self.options(out, sets, policy), *options, script, *args, **start)
        return self.finish(process, input, timeout, out)

    def exec(self, *command, options=(), sets=None, policy=None, input=None, timeout=TIMEOUT, out=None, **start):
        out = out or self.out()
        if input is not None:
            start.setdefault("stdin", subprocess.PIPE)
            options = ["--stdin", *options]
        process = self.start("exec", *self.options(out, sets, policy), *options, "--", *command, **start)
        return self.finish(process, input, timeout, out)

    def remove(self):
        for process in list(self.running):
            process.kill()
            process.wait()
            self.running.remove(process)
        self.reap()
        for base, folders, _ in os.walk(self.dir):  # a folder that a script made unreadable
            for name in folders:
                if not os.path.islink(os.path.join(base, name)):
                    os.chmod(os.path.join(base, name), 0o755)
        shutil.rmtree(self.dir, ignore_errors=True)


def wait_for(condition, what, timeout=15):
    """Polls until condition() is true."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    pytest.fail(f"{what} did not happen within {timeout} s")
