"""Signals to podjail itself: TERM from outside cancels within the grace time, at any moment; Ctrl-C; SIGKILL leaves a `running` record and no process."""

import os
import signal
import subprocess
import time

import pytest
from harness import children, wait_for

OFF = {"validation.enabled": "false", "audit.action": '"off"'}
READY = "import signal, sys, time\n{handler}\nprint('ready', flush=True)\ntime.sleep(60)\n"


def started(podjail, source, sets=None, **options):
    """Starts a run and waits for the script's first output, which is live."""
    out = podjail.out()
    script = podjail.write("script.py", source)
    process = podjail.start("run", *podjail.options(out, {**OFF, **(sets or {})}), script, **options)
    assert process.stdout.readline() == b"ready\n"
    return process, out


@pytest.mark.claim("C-16")
def test_term_cancels(podjail):
    process, out = started(podjail, READY.format(handler=""), {"limits.grace": "5s"})
    process.send_signal(signal.SIGTERM)
    outcome = podjail.finish(process, folder=out, timeout=10).expect("cancelled")
    assert outcome.result["reason"] in ("sigterm", "SIGTERM")
    assert outcome.result["observed"] is True
    assert outcome.seconds < 5
    assert b"ready" in outcome.stdout


@pytest.mark.claim("C-16")
def test_term_lets_the_script_clean_up(podjail):
    handler = "import os\ndef stop(*_):\n    os.write(1, b'saving\\n')\n    time.sleep(0.3)\n    os.write(1, b'saved\\n')\n    sys.exit(0)\nsignal.signal(signal.SIGTERM, stop)"
    process, out = started(podjail, READY.format(handler=handler), {"limits.grace": "5s"})
    process.send_signal(signal.SIGTERM)
    outcome = podjail.finish(process, folder=out).expect("cancelled", code=0)  # never exit code 0 once a TERM came first
    assert outcome.stdout == b"ready\nsaving\nsaved\n"


@pytest.mark.claim("C-16")
def test_term_that_is_ignored_ends_with_kill(podjail):
    process, out = started(podjail, READY.format(handler="signal.signal(signal.SIGTERM, signal.SIG_IGN)"), {"limits.grace": "500ms"})
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    outcome = podjail.finish(process, folder=out).expect("cancelled")
    assert 0.4 < time.monotonic() - begin < 2
    assert outcome.get("exit.signal") == "SIGKILL"


def test_repeated_term_changes_nothing(podjail):
    process, out = started(podjail, READY.format(handler="signal.signal(signal.SIGTERM, signal.SIG_IGN)"), {"limits.grace": "500ms"})
    for _ in range(5):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
    podjail.finish(process, folder=out).expect("cancelled")


@pytest.mark.parametrize("mode", ["status", "supervisor", "command"])
def test_term_is_never_exit_code_0(podjail, mode):
    """Also not with --exit-code supervisor, also not when the script itself ends with 0 inside the grace time."""
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))"
    out = podjail.out()
    script = podjail.write("script.py", READY.format(handler=handler))
    process = podjail.start("run", *podjail.options(out, OFF), "--exit-code", mode, script)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGTERM)
    outcome = podjail.finish(process, folder=out)
    assert (outcome.status, outcome.code) == ("cancelled", 75), outcome.describe()


@pytest.mark.claim("C-15")
@pytest.mark.parametrize("delay_ms", [0, 1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 30, 50])
def test_term_during_set_up(podjail, delay_ms):
    """Whenever the TERM comes, there is one outcome, and result and exit code agree; before podjail takes signals, it may simply die of it."""
    out = podjail.out()
    script = podjail.write("script.py", "import time\ntime.sleep(30)\n")
    process = podjail.start("run", *podjail.options(out, {"limits.grace": "1s"}), script)
    time.sleep(delay_ms / 1000)
    process.send_signal(signal.SIGTERM)
    outcome = podjail.finish(process, folder=out, timeout=10, check=False)
    assert not outcome.left, outcome.left
    if outcome.code == -signal.SIGTERM:
        assert outcome.result is None  # the loader or setpriv still ran
    else:
        assert (outcome.status, outcome.code) == ("cancelled", 75), outcome.describe()


def test_term_that_meets_the_end(podjail):
    """The script ends by itself at about that moment: either outcome, but result and exit code agree."""
    for offset in range(12):
        out = podjail.out()
        script = podjail.write("script.py", "import time\nprint('ready', flush=True)\ntime.sleep(0.05)\n")
        process = podjail.start("run", *podjail.options(out), script)
        process.stdout.readline()
        time.sleep(0.044 + offset * 0.002)
        process.send_signal(signal.SIGTERM)
        outcome = podjail.finish(process, folder=out, check=False)
        assert not outcome.left
        assert (outcome.status, outcome.code) in (("succeeded", 0), ("cancelled", 75)), outcome.describe()


def test_ctrl_c(podjail):
    """INT to the foreground group, as a terminal sends it: the script may handle it, the result is written."""
    process, out = started(podjail, READY.format(handler=""), {"limits.grace": "2s"})
    os.killpg(process.pid, signal.SIGINT)
    outcome = podjail.finish(process, folder=out, timeout=15)
    assert outcome.status == "cancelled", outcome.describe()
    assert outcome.code == 75


@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT"])
def test_other_ways_to_say_stop(podjail, name):
    process, out = started(podjail, READY.format(handler=""), {"limits.grace": "2s"})
    process.send_signal(getattr(signal, name))
    assert podjail.finish(process, folder=out, timeout=15).status == "cancelled"


@pytest.mark.claim("C-16")
def test_kill_of_podjail_takes_the_script_with_it(podjail):
    process, out = started(podjail, READY.format(handler="signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
    process.kill()
    outcome = podjail.finish(process, folder=out, check=False)
    assert outcome.code == -signal.SIGKILL
    assert not outcome.left, f"the script outlived podjail: {outcome.left}"
    assert outcome.status == "running"
    assert outcome.get("run.finished_at") is None


def test_stopped_podjail_goes_on(podjail):
    """A supervisor that was stopped for a while (a paused node) still ends the run properly."""
    process, out = started(podjail, READY.format(handler=""), {"limits.wall": "1s", "limits.grace": "200ms"})
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    podjail.finish(process, folder=out).expect("timed_out", "limits.wall")


@pytest.mark.claim("C-03")
def test_term_from_inside_is_no_cancellation(podjail):
    """The script's own process group, session leader and parent are out of its reach."""
    source = (
        "import os, signal\n"
        "for target in (os.getppid(), -1, -os.getpgrp() if os.getpgrp() != os.getpid() else -1):\n"
        "    try:\n        os.kill(target, signal.SIGTERM)\n        print('THROUGH', target)\n    except OSError:\n        print('refused')\n"
    )
    outcome = podjail.run(source, sets=OFF)
    assert outcome.expect("succeeded", code=0).stdout == b"refused\n" * 3


def test_background_children_of_the_harness_are_none(podjail):
    """The harness's own control: it sees a child that is left."""
    process = subprocess.Popen(["sleep", "30"])
    assert process.pid in children()
    process.kill()
    process.wait()
    podjail.run("pass\n").expect("succeeded")
