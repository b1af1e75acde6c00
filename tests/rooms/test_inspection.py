"""What a cheap look at a store finds, held against what the ledger remembers of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.check.walk import Problem


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "file.txt").write_text("one\n")
    (workspace / "same.txt").write_text("same\n")
    with Takeback.open(workspace) as opened:
        opened.checkpoint("one")
        (workspace / "file.txt").write_text("two\n")
        opened.checkpoint("two")
        assert problems(opened) == []
        yield opened


def problems(tb: Takeback) -> list[Problem]:
    return list(tb.verify().problems)


def whats(tb: Takeback) -> set[str]:
    return {problem.what for problem in problems(tb)}


def session_of(tb: Takeback) -> str:
    """Returns the ref of the session of checkpoints made by hand."""
    [found] = (bare(tb) / "refs/takeback/sessions").glob("*/workspace")
    return found.relative_to(bare(tb)).as_posix()


def bare(tb: Takeback) -> Path:
    return Path(tb.store_directory, "store.git")


def test_a_ref_that_is_gone_leads_where_it_led_after_a_fix(tb: Takeback) -> None:
    ref = session_of(tb)
    before = [entry.checkpoint.id for entry in tb.checkpoints()]
    (bare(tb) / ref).unlink()
    assert whats(tb) == {ref}
    assert tb.checkpoints() == []
    assert whats(tb) == {ref}  # still, though the ledger has caught up with it
    tb.doctor(fix=True)
    assert [entry.checkpoint.id for entry in tb.checkpoints()] == before
    assert problems(tb) == []


def test_a_ref_that_began_anew_is_named_and_left_alone(tb: Takeback) -> None:
    """What came before it cannot be put back without losing what came after."""
    ref = session_of(tb)
    led = (bare(tb) / ref).read_text().strip()
    (bare(tb) / ref).unlink()
    tb.checkpoint()
    now = (bare(tb) / ref).read_bytes()
    [problem] = [one for one in problems(tb) if one.what == ref]
    assert led in problem.detail
    tb.doctor(fix=True)
    assert (bare(tb) / ref).read_bytes() == now
    assert ref in whats(tb)


def test_a_label_that_was_taken_off_is_not_missed(tb: Takeback) -> None:
    tb.label("one", None)
    assert problems(tb) == []
    labels = [*(bare(tb) / "refs/takeback/labels").glob("*/*")]
    for label in labels:  # also one that was taken off has its ref
        label.unlink()
    assert len(problems(tb)) == len(labels) == 2


def test_a_chain_that_was_written_anew_is_not_missed(tb: Takeback) -> None:
    """A prune drops checkpoints from the middle; the others have other commits and their ids."""
    ref = session_of(tb)
    from takeback.git.objects import COMMIT, decode_commit, encode_commit
    from takeback.store.sink import PackSink

    store = tb.engine._context.store
    with tb.engine._context.locked() as locked:
        sink = PackSink(locked.lock)
        tip = store.refs.read(ref)
        assert tip is not None
        commit = decode_commit(store.packs.read(tip)[1])
        new = sink.add(COMMIT, encode_commit(commit.replace(parents=())))
        sink.publish()
        store.refs.write(ref, new, expect=tip)
    assert [one for one in problems(tb) if one.what == ref] == []


def test_every_checkpoint_that_lost_a_file_is_named(tb: Takeback, workspace: Path) -> None:
    """Both have the file; that they share the object does not hide the second."""
    store = tb.engine._context.store
    entries = {name: oid for _, name, oid in store.tree(bytes.fromhex(tb.find("one").snapshot))}
    place = store.packs.find(entries[b"same.txt"])
    assert place is not None
    ids = {tb.find("one").id, tb.find("two").id}
    for suffix in ("pack", "idx"):
        (bare(tb) / "objects" / "pack" / f"{place[0]}.{suffix}").unlink()
    lost = {one.checkpoint: one.paths for one in problems(tb) if one.checkpoint}
    assert ids <= set(lost)
    assert b"same.txt" in lost[tb.find("two").id]
    assert b"file.txt" not in lost[tb.find("two").id]


def test_numbers_go_on_above_all_that_were_given(tb: Takeback) -> None:
    number = Path(tb.store_directory, "sequence")
    number.write_text("1\n")
    assert whats(tb) == {"sequence"}
    tb.doctor(fix=True)
    assert problems(tb) == []
    assert tb.checkpoint().checkpoint.sequence > tb.find("two").sequence


def test_the_index_of_a_pack_is_made_anew(tb: Takeback) -> None:
    for index in (bare(tb) / "objects" / "pack").glob("*.idx"):
        before = index.read_bytes()
        index.unlink()
        assert problems(tb)
        found = tb.doctor(fix=True)
        assert "mended" in {one.state for one in found if one.about == "packs"}
        assert index.read_bytes() == before
        assert problems(tb) == []


def test_doctor_changes_nothing_unless_it_is_asked_to(tb: Takeback) -> None:
    ref = session_of(tb)
    (bare(tb) / ref).unlink()
    (bare(tb) / "HEAD").write_text("")
    stale = bare(tb) / "objects" / "pack" / "tmp_pack_killed"
    old = Path(tb.store_directory, ".epoch.4711.tmp")
    young = Path(tb.store_directory, ".sequence.4711.tmp")
    for path in (stale, old, young):
        path.write_bytes(b"left over")
    os.utime(old, (0, 0))
    Path(tb.store_directory).chmod(0o755)
    states = {one.about: one.state for one in tb.doctor()}
    assert states[ref] == states["store.git/HEAD"] == states["store"] == "broken"
    assert states["leftovers"] == "offer"
    assert stale.exists()
    assert not (bare(tb) / ref).exists()
    states = {one.about: one.state for one in tb.doctor(fix=True)}
    assert states[ref] == states["store.git/HEAD"] == states["store"] == "mended"
    assert states["leftovers"] == "mended"
    assert [path.exists() for path in (stale, old, young)] == [False, False, True]
    assert {one.state for one in tb.doctor()} <= {"ok", "offer"}
    assert Path(tb.store_directory).stat().st_mode & 0o777 == 0o700


def test_a_lost_name_of_the_machine_is_given_back_before_a_new_one_is(
    tb: Takeback, workspace: Path
) -> None:
    """A new name would make all that was done here look like another machine's work."""
    home = Path(os.environ["TAKEBACK_HOME"])
    before = (home / "machine").read_text().split()[0]
    for damage in (lambda: (home / "machine").unlink(), lambda: (home / "machine").write_text("")):
        damage()
        with Takeback.open(workspace) as opened:
            assert "machine" in whats(opened)
            assert [one.about for one in opened.status().warnings] == ["machine"]
            states = [one.state for one in opened.doctor(fix=True) if one.about == "machine"]
            assert states == ["mended"]
        assert (home / "machine").read_text().split()[0] == before
        with Takeback.open(workspace) as opened:
            assert whats(opened) == set()
    (home / "machine").unlink()
    with Takeback.open(workspace) as opened:  # too late: it goes on as a copy of itself
        opened.checkpoint("three")
    with Takeback.open(workspace) as opened:
        assert whats(opened) == set()
        [said] = [one for one in opened.doctor() if one.about == "machine"]
        assert said.state == "ok"
        assert before in said.message


def test_a_copied_home_has_no_name_to_get_back(tb: Takeback, workspace: Path) -> None:
    home = Path(os.environ["TAKEBACK_HOME"])
    there = (home / "machine").read_bytes()
    (home / "machine").rename(home / "aside")
    (home / "machine").write_bytes(there)  # as copying does: another inode
    with Takeback.open(workspace) as opened:
        assert "machine" not in whats(opened)
