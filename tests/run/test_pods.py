"""The escape suite and `podjail explain` as PID 1 in the pods that clusters give (pod.py)."""

import json
import re
import shutil

import harness
import pytest
import test_cases
from conftest import built_folder

PODS = ("restricted", "unconfined")


@pytest.fixture(scope="module")
def escape_test(base):
    """A copy that the ordinary user can run, in the pod's volume."""
    return shutil.copy2(next(built_folder().rglob("escape_test")), base)


@pytest.mark.parametrize("kind", PODS)
@pytest.mark.claim("C-01")
@pytest.mark.claim("C-02")
@pytest.mark.claim("C-03")
@pytest.mark.claim("C-04")
@pytest.mark.claim("C-07")
@pytest.mark.claim("C-08")
def test_the_escape_suite_holds(make_pod, escape_test, kind):
    end = make_pod(kind).run([escape_test])
    assert end.returncode == 0, end.stdout[-6000:] + end.stderr[-2000:]
    passed = re.search(r"\[  PASSED  \] (\d+) tests?\.", end.stdout)
    assert passed and int(passed[1]) >= 17, end.stdout[-2000:]


@pytest.mark.parametrize("kind", PODS)
@pytest.mark.parametrize("case", [case for case in test_cases.ALL if int(case.name[:4].rstrip("-")) >= 1000], ids=lambda case: case.name)
def test_cases_found_in_use_hold(make_pod, binary, base, case, kind):
    """What a pod's own profile refuses never comes to podjail: what works on a machine need not in a pod."""
    jail = harness.Podjail(binary, base, pod=make_pod(kind))
    try:
        outcome = test_cases.run_case(jail, case, None)
        for check in test_cases.CHECKS[case.name]:
            check(outcome, case)
    finally:
        jail.remove()


@pytest.mark.parametrize("kind", PODS)
def test_what_the_pod_offers(make_pod, binary, kind):
    end = make_pod(kind).run([binary, "explain", "--format", "json"])
    assert end.returncode == 0, end.stderr
    told = json.loads(end.stdout)
    offers = told["pod"]["offers"]
    assert told["tier"] == "T0"
    assert offers["user_namespaces"]["available"] == (kind == "unconfined"), offers
    assert all(offers[name]["available"] for name in ("landlock", "seccomp", "seccomp_notify")), offers


@pytest.mark.parametrize("kind", PODS)
def test_a_run_is_confined_and_leaves_its_result(make_pod, binary, base, kind):
    jail = harness.Podjail(binary, base, pod=make_pod(kind))
    try:
        outcome = jail.run("import os\nprint(os.getuid())\n").expect("succeeded")
        assert outcome.stdout == b"1000\n"
        enforced = {layer["layer"] for layer in outcome.get("isolation.layers") if layer["enforced"]}
        assert enforced >= {"no_new_privs", "capabilities", "rlimits", "landlock.filesystem", "seccomp", "seccomp.notify"}
    finally:
        jail.remove()
