"""podjail stage: the run's folders on a volume."""

import os
import stat

import pytest


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_are_made_for_the_user(podjail):
    ends = [podjail.dir / "volume/runs/one/in", podjail.dir / "volume/runs/one/out"]
    outcome = podjail.cli("stage", *ends)
    assert (outcome.code, outcome.out, outcome.err) == (0, b"", b""), outcome.describe()
    for path in (*ends, podjail.dir / "volume", podjail.dir / "volume/runs"):
        assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (podjail.uid, podjail.gid, 0o755)


def test_again_changes_nothing(podjail):
    out = podjail.dir / "runs/one/out"
    assert podjail.cli("stage", out).code == 0
    (out / "result.json").write_text("kept")
    out.chmod(0o700)
    assert podjail.cli("stage", out, out).code == 0
    assert (out / "result.json").read_text() == "kept" and mode(out) == 0o700


@pytest.mark.parametrize("place", ["runs", "runs/one", "runs/one/out"])
def test_links_are_refused(podjail, place):
    """Whoever could write the volume would else have podjail make folders anywhere."""
    elsewhere = podjail.dir / "elsewhere"
    elsewhere.mkdir()
    link = podjail.dir / "volume" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    podjail.own(podjail.dir)
    outcome = podjail.cli("stage", podjail.dir / "volume/runs/one/out")
    assert outcome.code == 73 and f"link, which podjail stage doesn't follow: {link}" in outcome.text, outcome.describe()
    assert os.listdir(elsewhere) == []


def test_what_is_in_the_way_is_named(podjail):
    (podjail.dir / "runs").write_text("a file")
    outcome = podjail.cli("stage", podjail.dir / "runs/one")
    assert outcome.code == 73 and f"{podjail.dir}/runs" in outcome.text, outcome.describe()


def test_a_folder_of_another_user_is_named_with_its_owner(podjail):
    """As the kubelet leaves it for a subPath that wasn't there."""
    out = podjail.dir / "runs/one/out"
    out.mkdir(parents=True)
    if os.geteuid() != 0:
        pytest.skip("needs root to have a folder of another user")
    os.chown(out, 0, 0)
    outcome = podjail.cli("stage", out)
    assert outcome.code == 73, outcome.describe()
    assert f"owner 0:0, mode 0755; podjail is {podjail.uid}:{podjail.gid}" in outcome.text and str(out) in outcome.text


def test_each_folder_is_tried(podjail):
    (podjail.dir / "file").write_text("")
    outcome = podjail.cli("stage", podjail.dir / "file/x", podjail.dir / "good")
    assert outcome.code == 73 and (podjail.dir / "good").is_dir()
