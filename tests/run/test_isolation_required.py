"""A layer that the policy requires and that can't be had refuses the run; one that is merely missing is reported."""

import json

import pytest
from harness import EXIT_CODES


@pytest.mark.claim("C-09")
def test_a_required_layer_that_cannot_be_had(podjail):
    """The result names the layer, and the script never starts."""
    missing = [row["layer"] for row in json.loads(podjail.cli("explain", "--format", "json").out)["layers"] if not row["planned"]]
    assert missing, "every layer can be had here: this test needs one that can't"
    marker = podjail.dir / "home" / "ran"
    outcome = podjail.run(f"open({str(marker)!r}, 'w')\n", sets={"isolation.require": ["seccomp", missing[0]]})
    outcome.expect("isolation_unavailable", missing[0])
    assert missing[0] in outcome.result["message"]
    assert not marker.exists()
    assert outcome.out == b""


@pytest.mark.claim("C-09")
def test_an_unknown_layer_is_an_invalid_policy_or_unavailable(podjail):
    outcome = podjail.run("print('RAN')\n", sets={"isolation.require": ["seccomp", "no.such.layer"]})
    assert outcome.status in ("invalid_policy", "isolation_unavailable"), outcome.describe()
    assert outcome.code == EXIT_CODES[outcome.status]
    assert "no.such.layer" in outcome.result["message"]
    assert outcome.out == b""


def test_every_required_layer_is_enforced_and_every_other_is_reported(podjail):
    outcome = podjail.run("pass\n").expect("succeeded")
    layers = {layer["layer"]: layer for layer in outcome.get("isolation.layers")}
    for name in ("no_new_privs", "seccomp", "landlock.filesystem", "rlimits"):
        assert layers[name]["required"] is True
        assert layers[name]["enforced"] is True
        assert layers[name]["mechanism"]
    for layer in layers.values():
        assert layer["enforced"] or layer["reason"], f"{layer['layer']} is missing without a reason"
    assert outcome.get("isolation.tier") == "T0"


def test_namespaces_always(podjail):
    """`always` where a pod can't: refused, not skipped."""
    outcome = podjail.run("print('RAN')\n", sets={"isolation.namespaces": '"always"'})
    assert outcome.status in ("isolation_unavailable", "succeeded"), outcome.describe()
    if outcome.status == "succeeded":
        assert any(layer["layer"].startswith("namespace") and layer["enforced"] for layer in outcome.get("isolation.layers"))


@pytest.mark.claim("C-07")
def test_what_the_kernel_says_of_the_script(podjail):
    """Seen from within: no_new_privs, no capabilities, the filters on every thread."""
    source = "import threading\nt = threading.Thread(target=lambda: print(open('/proc/thread-self/status').read()))\nt.start()\nt.join()\n"
    outcome = podjail.run(source, sets={"validation.enabled": "false", "audit.action": '"off"'}).expect("succeeded", code=0)
    status = dict(line.split(":\t", 1) for line in outcome.stdout.decode().splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert int(status["Seccomp_filters"]) >= 2
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):  # the bounding set needs a capability to be emptied, and no_new_privs makes it moot
        assert int(status[name], 16) == 0, name


@pytest.mark.claim("C-07")
@pytest.mark.parametrize(
    "call",
    ["unshare(0x10000000)", "mount(b'none', b'/tmp', b'tmpfs', 0, 0)", "ptrace(0, 0, 0, 0)", "syscall(425, 8, 0)", "syscall(323, 0)", "syscall(321, 0, 0, 0)",
     "syscall(250, 0, 0, 0, 0, 0)", "syscall(298, 0, 0, 0, 0, 0)", "syscall(319, b'x', 0)", "personality(0x0040000)", "setns(0, 0)", "chroot(b'/tmp')"],
    ids=["unshare", "mount", "ptrace", "io_uring_setup", "userfaultfd", "bpf", "keyctl", "perf_event_open", "memfd_create", "personality", "setns", "chroot"],
)  # fmt: skip
def test_kernel_surface(podjail, call):
    source = f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.{call}, ctypes.get_errno())\n"
    outcome = podjail.run(source, sets={"validation.enabled": "false", "audit.action": '"off"'}).expect("succeeded", code=0)
    assert outcome.stdout in (b"-1 1\n", b"-1 38\n"), outcome.stdout  # EPERM, ENOSYS
    assert outcome.result["violations"], "a denied call of interest is recorded"
