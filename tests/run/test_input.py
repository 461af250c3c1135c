"""--input: the task's folder is a folder, as python3 would find it in the current folder."""

import json
import os
import signal
import sqlite3
import stat
import subprocess

import harness
import pytest

WALKS = {
    "os.walk": "sum(int(open(os.path.join(d, f)).read()) for d, _, names in os.walk('.') for f in names if f.endswith('.csv'))",
    "rglob": "sum(int(p.read_text()) for p in pathlib.Path('.').rglob('*.csv'))",
    "glob": "sum(int(open(p).read()) for p in glob.glob('**/*.csv', recursive=True))",
    "fwalk": "sum(int(open(os.path.join(d, f)).read()) for d, _, names, _ in os.fwalk('.') for f in names if f.endswith('.csv'))",
    "scandir": "total('.')",
    "beside the script": "sum(int(p.read_text()) for p in pathlib.Path(__file__).parent.rglob('*.csv'))",
    "$PODJAIL_INPUT_DIR": "sum(int(p.read_text()) for p in pathlib.Path(os.environ['PODJAIL_INPUT_DIR']).rglob('*.csv'))",
}
WALK = """import glob, os, pathlib
def total(folder):
    return sum(
        total(e.path) if e.is_dir(follow_symlinks=False) else int(open(e.path).read()) if e.name.endswith('.csv') else 0
        for e in os.scandir(folder)
    )
"""


def task(podjail, source, files, options=(), **run):
    for name, content in files.items():
        podjail.write(f"task/{name}", content)
    script = podjail.write("task/main.py", source)
    return podjail.run(script, options=["--input", podjail.dir / "in/task", *options], **run)


@pytest.mark.parametrize("mode", ["copy", "link"])
@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_finds_what_lies_in_subfolders(podjail, walk, mode):
    files = {"top.csv": "1", "data/b.csv": "10", "data/2023/a.csv": "100"}
    outcome = task(podjail, f"{WALK}print({WALKS[walk]})\n", files, ["--input-mode", mode]).expect("succeeded")
    assert outcome.out == b"111\n"


CHANGES = {
    "move into output": ("import shutil\nshutil.move('data', 'output/data')\nshutil.move('top.csv', 'output')\n", ["data/b.csv", "top.csv"]),
    "rename into output": ("import os\nos.rename('top.csv', 'output/top.csv')\n", ["top.csv"]),
    "copytree": ("import shutil\nshutil.copytree('data', 'output/data', symlinks=True)\n", ["data/b.csv"]),
    "copy2 without following": ("import shutil\nshutil.copy2('top.csv', 'output/top.csv', follow_symlinks=False)\n", ["top.csv"]),
    "link to the input": ("import os\nos.symlink(os.path.abspath('top.csv'), 'output/top.csv')\n", ["top.csv"]),
    "relative link to the input": ("import os\nos.mkdir('output/s')\nos.symlink('../../data/b.csv', 'output/s/b.csv')\n", ["s/b.csv"]),
    "link to $PODJAIL_INPUT_DIR": ("import os\nos.symlink(os.environ['PODJAIL_INPUT_DIR'] + '/data/b.csv', 'output/b.csv')\n", ["b.csv"]),
    "link beside the script": ("import os\nos.symlink(os.path.dirname(__file__) + '/data/b.csv', 'output/b.csv')\n", ["b.csv"]),
}


@pytest.mark.parametrize("mode", ["copy", "link"])
@pytest.mark.parametrize("kind", CHANGES)
def test_inputs_that_go_into_the_output_are_artifacts_with_their_content(podjail, kind, mode):
    source, artifacts = CHANGES[kind]
    given = {"top.csv": "1", "data/b.csv": "10"}
    outcome = task(podjail, source, given, ["--input-mode", mode]).expect("succeeded")
    assert outcome.get("artifacts.refused") == []
    collected = {file["path"]: (outcome.folder / "artifacts" / file["path"]).read_text() for file in outcome.get("artifacts.files")}
    assert sorted(collected) == artifacts
    for path, text in collected.items():
        assert text == given["data/b.csv" if path.endswith("b.csv") else "top.csv"]
        assert not (outcome.folder / "artifacts" / path).is_symlink()


@pytest.mark.claim("C-05")
@pytest.mark.parametrize("mode", ["copy", "link"])
def test_links_to_anything_else_are_no_artifacts(podjail, mode):
    """Only the input's own files: not the result, not a file of the same user, not one that the input itself links to."""
    secret = podjail.write("../secret.txt", "secret")
    podjail.write("task/a.csv", "1")
    (podjail.dir / "in/task/leads_out").symlink_to(secret)
    podjail.own(podjail.dir / "in")
    out = podjail.dir / "in/task/result"
    source = (
        "import os\ninput_ = os.environ['PODJAIL_INPUT_DIR']\n"
        f"for n, t in enumerate([{str(secret)!r}, input_ + '/leads_out', 'leads_out', '../leads_out', input_ + '/result/stdout.log', input_, '..', '../../tmp']):\n"
        "    os.symlink(t, f'output/{n}')\n"
        "os.mkdir('own'); open('own/file', 'w').write('x'); os.symlink('../own/file', 'output/own')\n"
    )
    outcome = task(podjail, source, {}, ["--input-mode", mode], out=out).expect("succeeded")
    assert outcome.get("artifacts.files") == []
    assert {entry["reason"] for entry in outcome.get("artifacts.refused")} == {"symlink"}
    assert len(outcome.get("artifacts.refused")) == 9


BESIDE = {
    "kinds": "print([(e.name, e.is_file(follow_symlinks=False), e.is_symlink(), e.stat(follow_symlinks=False).st_size) for e in os.scandir(here / 'data')])\n",
    "guard": "print((here / 'data/b.csv').resolve().relative_to(here.resolve()))\n",
    "real path": "print(os.path.realpath(here / 'data/b.csv') == os.path.join(os.path.realpath(here), 'data/b.csv'))\n",
    "copytree": "import shutil\nshutil.copytree(here / 'data', 'new', symlinks=True)\nopen('new/b.csv', 'a').write('!')\nprint((here / 'data/b.csv').read_text())\n",
    "archive": "import io, tarfile\nb = io.BytesIO()\nwith tarfile.open(fileobj=b, mode='w') as t:\n    t.add(here / 'data', 'data')\nb.seek(0)\nprint([(m.name, m.isreg(), m.size) for m in tarfile.open(fileobj=b) if not m.isdir()])\n",
}


@pytest.mark.parametrize("kind", BESIDE)
def test_files_beside_the_script_are_files(podjail, kind):
    source = "import os, pathlib\nhere = pathlib.Path(__file__).parent\n" + BESIDE[kind]
    outcome = task(podjail, source, {"top.csv": "1", "data/b.csv": "10"}).expect("succeeded")
    (podjail.dir / "mine").mkdir()
    python = subprocess.run([harness.PYTHON, podjail.dir / "in/task/main.py"], cwd=podjail.dir / "mine", capture_output=True, check=True)
    assert outcome.out == python.stdout


@pytest.mark.parametrize("how", ["data", "__import__('os').path.join(__import__('os').path.dirname(__file__), 'data')"])
def test_a_tar_of_the_input_holds_the_files(podjail, how):
    data = "'data'" if how == "data" else how
    source = f"import tarfile\nwith tarfile.open('output/all.tar', 'w') as t:\n    t.add({data}, 'data')\n    t.add('top.csv')\n"
    outcome = task(podjail, source, {"top.csv": "1", "data/b.csv": "10"}).expect("succeeded")
    listed = subprocess.run(["tar", "-tvf", outcome.folder / "artifacts/all.tar"], capture_output=True, text=True, check=True).stdout
    assert [line[0] for line in listed.splitlines()] == ["d", "-", "-"], listed


EDITS = {
    "in place": "open('conf.ini', 'r+').write('B')\nprint(open('conf.ini').read())\n",
    "append": "open('conf.ini', 'a').write('!')\nprint(open('conf.ini').read())\n",
    "truncate": "import os\nos.truncate('conf.ini', 0)\nprint(os.path.getsize('conf.ini'))\n",
    "replace": "import os\nopen('new', 'w').write('n')\nos.replace('new', 'conf.ini')\nprint(open('conf.ini').read())\n",
    "remove": "import os\nos.remove('data/b.csv')\nprint(os.listdir('data'))\n",
    "beside it": "open('data/c.csv', 'w').write('3')\nimport os\nprint(sorted(os.listdir('data')))\n",
    "rmtree": "import os, shutil\nshutil.rmtree('data')\nprint(os.path.exists('data'))\n",
    "fileinput": "import fileinput\nfor line in fileinput.input('conf.ini', inplace=True):\n    print(line.upper(), end='')\nprint(open('conf.ini').read())\n",
    "mmap": "import mmap\nwith open('conf.ini', 'r+b') as f, mmap.mmap(f.fileno(), 0) as m:\n    m[0:1] = b'Z'\nprint(open('conf.ini').read())\n",
    "seen by the path beside the script": (
        "import os\nopen('conf.ini', 'a').write('!')\nprint(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'conf.ini')).read())\n"
    ),
    "a read-only file": "import os\nprint(os.access('conf.ini', os.W_OK), oct(os.stat('conf.ini').st_mode & 0o777))\n",
}


@pytest.mark.parametrize("kind", EDITS)
def test_inputs_can_be_changed_as_with_python3(podjail, kind):
    """The same output as python3 in a copy of the folder; the given files stay as they are."""
    files = {"conf.ini": "abc", "data/b.csv": "10"}
    outcome = task(podjail, EDITS[kind], files).expect("succeeded")
    mine = podjail.dir / "mine"
    for name, text in files.items():
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text(text)
    (mine / "main.py").write_text(EDITS[kind])
    python = subprocess.run([harness.PYTHON, "main.py"], cwd=mine, capture_output=True, check=True)
    assert outcome.out == python.stdout
    for name, text in files.items():
        assert (podjail.dir / "in/task" / name).read_text() == text


def test_a_wal_database_can_be_read_and_written(podjail):
    database = podjail.dir / "in/task/sales.db"
    database.parent.mkdir(parents=True)
    with sqlite3.connect(database) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table sale(n)")
        connection.execute("insert into sale values (10)")
    connection.close()
    for name in ("'sales.db'", "__import__('os').path.abspath('sales.db')"):
        source = f"import sqlite3\ndb = sqlite3.connect({name})\nprint(db.execute('select sum(n) from sale').fetchone()[0])\ndb.execute('insert into sale values (1)')\ndb.commit()\n"
        assert task(podjail, source, {}).expect("succeeded").out == b"10\n"


def test_modes_times_and_links_are_the_inputs(podjail):
    podjail.write("task/tool.sh", "#!/bin/sh\n", mode=0o755)
    os.utime(podjail.write("task/old.txt", "x"), (1_600_000_000, 1_600_000_000))
    (podjail.dir / "in/task/latest").symlink_to("old.txt")
    source = "import os\nprint(oct(os.stat('tool.sh').st_mode & 0o777), int(os.stat('old.txt').st_mtime), os.readlink('latest'), os.path.islink('old.txt'))\n"
    assert task(podjail, source, {}).expect("succeeded").out == b"0o755 1600000000 old.txt False\n"


def test_what_is_imported_is_what_was_validated(podjail):
    """Neither an edit in the work folder nor bytecode that nobody has read comes between."""
    podjail.write("task/mod.py", "VALUE = 'checked'\n")
    subprocess.run(
        [harness.PYTHON, "-c", "import py_compile, sys; py_compile.compile(sys.argv[1], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"]
        + [podjail.write("task/mod.py", "VALUE = 'never read'\n")],
        check=True,
    )
    podjail.write("task/mod.py", "VALUE = 'checked'\n")
    podjail.own(podjail.dir / "in")
    source = "import os\nopen('mod.py', 'w').write('VALUE = \"edited\"')\nimport mod\nprint(mod.VALUE, open('mod.py').read())\n"
    assert task(podjail, source, {}).expect("succeeded").out == b'checked VALUE = "edited"\n'


@pytest.mark.claim("C-02")
def test_the_input_folder_and_the_scripts_folder_stay_read_only(podjail):
    source = (
        "import os\nfor path in (os.environ['PODJAIL_INPUT_DIR'] + '/a.txt', __file__, os.path.dirname(__file__) + '/mod.py',\n"
        "             os.path.dirname(__file__) + '/new', os.environ['PODJAIL_INPUT_DIR'] + '/new'):\n"
        "    try:\n        open(path, 'a')\n        print('changed', path)\n    except PermissionError:\n        print('refused')\n"
    )
    assert task(podjail, source, {"a.txt": "x", "mod.py": ""}).expect("succeeded").out == b"refused\n" * 5


def test_an_input_beyond_the_scratch_limit_says_so_and_fits_as_links(podjail):
    big = podjail.write("task/big.bin", "")
    os.truncate(big, 40 << 20)
    sets = {"limits__scratch": "32Mi"}
    outcome = task(podjail, "print(1)\n", {}, sets=sets).expect("invalid_input", reason="input")
    assert "limits.scratch (32Mi)" in outcome.result["message"] and "--input-mode link" in outcome.result["message"]
    source = "import os\nprint(os.path.getsize('big.bin'), os.path.getsize(os.path.dirname(__file__) + '/big.bin'))\n"
    assert task(podjail, source, {}, ["--input-mode", "link"], sets=sets).expect("succeeded").out == b"41943040 41943040\n"


def test_the_mode_can_come_from_the_environment_and_is_checked(podjail):
    podjail.write("task/a.txt", "x")
    outcome = task(podjail, "import os\nprint(os.path.islink('a.txt'))\n", {}, env={"PODJAIL_INPUT_MODE": "link"})
    assert outcome.expect("succeeded").out == b"True\n"
    refused = podjail.cli("run", "--input-mode", "hard", "x.py")
    assert refused.code == 64 and "--input-mode" in refused.text


def test_copies_count_as_scratch(podjail):
    podjail.write("task/half.bin", b"x" * (20 << 20))
    source = "data = open('half.bin', 'rb').read()\nimport time\nopen('more', 'wb').write(data)\ntime.sleep(5)\n"
    outcome = task(podjail, source, {}, sets={"limits__scratch": "32Mi"}).expect("disk_exceeded", reason="limits.scratch")
    assert outcome.get("usage.scratch_bytes") > 32 << 20


def test_a_cancellation_while_the_input_is_copied_ends_the_run(podjail):
    for number in range(3000):
        path = podjail.dir / f"in/task/{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    podjail.own(podjail.dir / "in")
    script = podjail.write("main.py", "print('RAN')\n")
    process = podjail.start("run", "--quiet", "--out", podjail.dir / "out", "--input", podjail.dir / "in/task", script)
    harness.wait_for(lambda: list((podjail.dir / "tmp").glob("podjail-*/data/work/*")), "laying the input")
    process.send_signal(signal.SIGTERM)
    outcome = podjail.finish(process, folder=podjail.dir / "out").expect("cancelled", reason="sigterm")
    assert outcome.out == b""


def test_what_is_no_regular_file_does_not_hold_up_the_run(podjail):
    (podjail.dir / "in/task").mkdir()
    os.mkfifo(podjail.dir / "in/task/pipe")
    podjail.write("task/locked/secret", "x")
    (podjail.dir / "in/task/dangling").symlink_to("nowhere")
    source = (
        "import os, stat\nprint(stat.S_ISFIFO(os.stat('pipe').st_mode), os.path.lexists('dangling'))\n"
        "try:\n    os.listdir('locked')\nexcept PermissionError:\n    print('locked')\n"
    )
    script = podjail.write("task/main.py", source)
    (podjail.dir / "in/task/locked").chmod(0)
    outcome = podjail.run(script, options=["--input", podjail.dir / "in/task"])
    (podjail.dir / "in/task/locked").chmod(0o755)
    assert outcome.expect("succeeded").out == b"True True\nlocked\n"


@pytest.mark.claim("C-01")
def test_a_link_in_the_input_opens_nothing_where_the_result_lies_in_the_input(podjail):
    """Each entry has a rule of its own then, as one of them is podjail's."""
    secret = podjail.write("../secret.txt", "secret", mode=0o600)
    for name, target in (("root", "/"), ("up", ".."), ("file", secret), ("..data", "."), ("here", ".")):
        (podjail.dir / "in/task").mkdir(exist_ok=True)
        (podjail.dir / "in/task" / name).symlink_to(target)
    source = (
        "import os\ninput_ = os.environ['PODJAIL_INPUT_DIR']\n"
        f"for path in ('root/{secret}', 'up/../secret.txt', 'file', 'here/out/result.json', '..data/out/result.json', 'out/result.json', 'root/var/log/dpkg.log'):\n"
        "    for base in (input_ + '/', '', os.path.dirname(__file__) + '/'):\n        try:\n            open(base + path).read()\n            print('READ', base, path)\n        except OSError:\n            pass\n"
        "print(open(input_ + '/plain.txt').read())\n"
    )
    outcome = task(podjail, source, {"plain.txt": "x"}, out=podjail.dir / "in/task/out").expect("succeeded")
    assert outcome.out == b"x\n"


def test_a_folder_script_is_its_own_input(podjail):
    podjail.write("app/__main__.py", "import os, helper\nprint(helper.NAME, sorted(n for _, _, names in os.walk('res') for n in names))\n")
    podjail.write("app/helper.py", "NAME = 'helper'\n")
    podjail.write("app/res/deep/er/data.txt", "x")
    assert podjail.run(podjail.dir / "in/app").expect("succeeded").out == b"helper ['data.txt']\n"


def test_a_config_map_volume_is_the_files_that_it_shows(podjail):
    """As the kubelet's atomic writer lays it: NAME -> ..data/NAME, ..data -> ..TIMESTAMP."""
    podjail.write("task/..2026_12_07_10_00/main.py", "import os, mod\nprint(mod.X, sorted(os.listdir('.')), sum(len(n) for _, _, n in os.walk('.')))\n")
    podjail.write("task/..2026_12_07_10_00/mod.py", "X = 'mod'\n")
    podjail.write("task/..2026_12_07_10_00/conf.json", json.dumps({}))
    folder = podjail.dir / "in/task"
    (folder / "..data").symlink_to("..2026_12_07_10_00")
    for name in ("main.py", "mod.py", "conf.json"):
        (folder / name).symlink_to(f"..data/{name}")
    podjail.own(podjail.dir / "in")
    outcome = podjail.run(folder / "main.py", options=["--input", folder]).expect("succeeded")
    assert outcome.out == b"mod ['conf.json', 'main.py', 'mod.py', 'output'] 3\n"
    assert stat.S_ISLNK((folder / "mod.py").lstat().st_mode)
