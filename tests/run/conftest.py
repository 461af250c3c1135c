"""Fixtures of the end-to-end tests; harness.py has what they do."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import harness
import pod
import pytest


def built_folder():
    """PODJAIL_BIN (a podjail), else build/PODJAIL_PRESET, else the first preset that is built."""
    if "PODJAIL_BIN" in os.environ:
        return Path(os.environ["PODJAIL_BIN"]).resolve().parent
    presets = [os.environ["PODJAIL_PRESET"]] if "PODJAIL_PRESET" in os.environ else ["release", "dev", "asan"]
    for preset in presets:
        if (harness.ROOT / "build" / preset / "podjail").exists():
            return harness.ROOT / "build" / preset
    raise pytest.UsageError(f"no podjail in build/{{{','.join(presets)}}}: run scripts/test, or set PODJAIL_BIN")


def pytest_addoption(parser):
    parser.addoption("--pod", choices=("restricted", "unconfined"), help="run podjail as PID 1 of an emulated pod instead of on this machine (pod.py)")


def pytest_configure(config):
    built_folder()  # once for all, before any worker starts


@pytest.fixture(scope="session")
def base():
    """Where the tests' folders lie: one that the ordinary user can reach, which pytest's own tmp_path is not."""
    harness.adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="podjail-e2e-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def binary(base):
    """podjail, with podjail-pythonX.Y beside it, at a path that the ordinary user can run (a checkout below /root can't be)."""
    built = built_folder()
    if subprocess.run([*harness.as_user(), "test", "-x", str(built / "podjail")], capture_output=True).returncode == 0:
        return built / "podjail"
    (base / "bin").mkdir()
    for path in [built / "podjail", *built.glob("podjail-python3.*")]:
        if path.is_file() and os.access(path, os.X_OK):
            shutil.copy2(path, base / "bin")
    return base / "bin/podjail"


@pytest.fixture(scope="session")
def make_pod(base, binary):
    """make_pod("restricted"): the emulated pod of that name, the tests' folder its volume; skips where no runtime can be had."""
    made = {}

    def make(kind):
        harness.need("runc", not pod.lacking(), pod.lacking())
        if kind not in made:
            made[kind] = pod.Pod(base, profile=kind == "restricted", read_only=[built_folder(), binary.parent])
        return made[kind]

    yield make
    for each in made.values():
        each.remove()


@pytest.fixture
def podjail(binary, base, request):
    kind = request.config.getoption("--pod")
    jail = harness.Podjail(binary, base, pod=request.getfixturevalue("make_pod")(kind) if kind else None)
    yield jail
    jail.remove()
