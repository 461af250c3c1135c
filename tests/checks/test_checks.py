"""The checks of this folder as tests, and each check tried on something that it must refuse."""

import shutil
import subprocess
import sys
from pathlib import Path

import check_claims
import check_includes
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_includes_point_down():
    assert list(check_includes.problems(ROOT / "supervisor")) == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("base/x.h", '#include "sys/fd.h"\n'),
        ("isolation/x.cc", '#include "run/loop.h"\n'),
        ("python/x.cc", '#include "isolation/plan.h"\n'),
        ("policy/x.h", "#include <nlohmann/json.hpp>\n"),
        ("cli/x.cc", "#include <pybind11/embed.h>\n"),
        ("run/x.cc", "int f() { return ::syscall(SYS_kill, 1, 0); }\n"),
        ("other/x.cc", "#include <string>\n"),
    ],
)
def test_a_wrong_include_is_found(tmp_path, file, text):
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)
    assert len(list(check_includes.problems(tmp_path))) == 1


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("run/x.cc", '#include "result/result.h"\n#include "base/error.h"\n'),
        ("sys/x.cc", "long f() { return ::syscall(SYS_gettid); }\n"),
        ("isolation/x_child.cc", "long f() { return ::syscall(SYS_gettid); }\n"),
        ("run/x.cc", "// syscall(SYS_kill) is never called here\nvoid f() { decide_syscall(1); plan.syscall(2); }\n"),
        ("policy/x.h", "#include <nlohmann/json_fwd.hpp>\n"),
    ],
)
def test_what_is_right_is_not_refused(tmp_path, file, text):
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)
    assert list(check_includes.problems(tmp_path)) == []


def test_claims_and_tests_name_each_other():
    assert list(check_claims.problems(ROOT)) == []


@pytest.mark.parametrize(
    ("security", "complaint"),
    [
        ("### C-01 Files\n- **Tests**: `Files.Read`\n", None),
        ("### C-01 Files\n- **Tests**: `Files.Gone`\n", "does not exist"),
        ("### C-01 Files\n- **Tier**: T0\n", "names no test"),
        ("### C-01 Files\n- **Tests**: `Files.Read`\n\n### C-02 More\n- **Tests**: `Files.Read`\n", "no test that is marked"),
        ("### C-02 More\n- **Tests**: `Files.Read`\n", "which SECURITY.md lacks"),
        ("# nothing\n", "has no claim"),
    ],
)
def test_a_claim_without_test_is_found(tmp_path, security, complaint):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/files_test.cc").write_text('TEST(Files, Read) { row("C-01"); }\n')
    (tmp_path / "SECURITY.md").write_text(security)
    found = list(check_claims.problems(tmp_path))
    assert (found == []) if complaint is None else any(complaint in line for line in found)


def test_format():
    if shutil.which("clang-format") is None:
        pytest.skip("clang-format is not installed")
    done = subprocess.run([HERE / "check_format"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def test_summary_counts_and_fails(tmp_path):
    report = tmp_path / "r.xml"
    report.write_text('<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><skipped message="no x"/></testcase></testsuite>')
    done = subprocess.run([sys.executable, HERE / "summary.py", report], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"
    report.write_text("<testsuite/>")
    assert subprocess.run([sys.executable, HERE / "summary.py", report], capture_output=True).returncode == 1
