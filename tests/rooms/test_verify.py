"""Verify reads everything, says how far it is, and names who lost what."""

from __future__ import annotations

import os
from pathlib import Path

from takeback import Takeback
from takeback.app.engine import Engine
from takeback.check.check import Witness, verify, witness
from tests.support.engine import checkpoint, garble, heard_by, opened


def test_progress_goes_by_the_object(workspace: Path) -> None:
    (workspace / "file.txt").write_text("one\n")
    with opened(workspace) as context:
        checkpoint(context)
        (workspace / "file.txt").write_text("two\n")
        checkpoint(context)
        heard_by(context).steps.clear()
        found = verify(context, read_data=True)
        steps = [(done, total) for what, done, total in heard_by(context).steps if "obj" in what]
    assert found.problems == ()
    assert len(steps) == found.objects + 1
    assert steps[-1] == (found.objects, found.objects)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert {total for _, total in steps} == {found.objects}


def test_without_reading_the_data_no_object_is_counted(workspace: Path) -> None:
    (workspace / "file.txt").write_text("one\n")
    with opened(workspace) as context:
        checkpoint(context)
        found = verify(context, read_data=False)
    assert (found.checkpoints, found.objects, found.problems) == (1, 0, ())


def test_a_session_that_is_written_anew_meanwhile_is_no_damage(workspace: Path) -> None:
    """A sweep has its own process, and runs beside a verify."""
    with Engine.open(workspace) as tb, Engine.open(workspace) as other:
        session = tb.session(agent="mine", native="s")
        for number in range(3):
            with session.turn(f"turn {number}"):
                (workspace / "file.txt").write_text(f"{number}\n")
        left = ["turn:1", "turn:2"]

        def ask() -> Witness:
            known = tb._ask(lambda ledger: witness(ledger, None))
            if left:
                other.prune(other.plan_prune((f"mine-s/{left.pop()}",)))
            return known

        assert verify(tb._context, ask, read_data=False).problems == ()
    assert left == []


def test_a_flipped_bit_is_told_by_the_checkpoints_and_paths_that_lost_it(workspace: Path) -> None:
    """The object is there and has its place; only its bytes say that it is another one."""
    (workspace / "sub").mkdir()
    (workspace / "sub" / "file.txt").write_text("one\n" * 100)
    with Takeback.open(workspace) as tb:
        ids = {tb.checkpoint().checkpoint.id}
        (workspace / "other.txt").write_text("other\n")
        ids.add(tb.checkpoint().checkpoint.id)
        store = tb.engine._context.store
        [sub] = [
            oid
            for _, name, oid in store.tree(bytes.fromhex(tb.find("@").snapshot))
            if name == b"sub"
        ]
        [(_, _, blob)] = store.tree(sub)
        garble(store, blob)
    with Takeback.open(workspace) as tb:
        assert [one for one in tb.verify().problems if one.checkpoint] == []
    with Takeback.open(workspace) as tb:
        found = tb.verify(read_data=True)
    lost = {one.checkpoint: one.paths for one in found.problems if one.checkpoint}
    assert lost == dict.fromkeys(ids, (b"sub/file.txt",))


def test_what_lies_behind_a_lost_checkpoint_is_checked_too(workspace: Path) -> None:
    """Nothing leads to it any more but the ledger; it is whole, and is said to be."""
    with Takeback.open(workspace) as tb:
        packs = Path(tb.store_directory, "store.git", "objects", "pack")
        made = []
        for number in range(3):
            (workspace / "file.txt").write_text(f"{number}\n")
            before = set(packs.iterdir())
            made.append((tb.checkpoint().checkpoint.id, set(packs.iterdir()) - before))
        tb.checkpoints()  # the ledger has seen them
        for path in made[1][1]:
            os.unlink(path)
    with Takeback.open(workspace) as tb:
        found = tb.verify().problems
        assert [one for one in found if one.checkpoint == made[1][0]]
        behind = next(one for one in found if "only the ledger" in one.detail)
        assert made[0][0] in behind.what
        assert tb.cat(made[0][0], "file.txt") == b"0\n"


def test_damage_in_the_trash_is_told_as_such(workspace: Path) -> None:
    with Takeback.open(workspace) as tb:
        for number in (1, 2, 3):
            with tb.session("mine", "s1").turn(f"turn {number}"):
                (workspace / "a.txt").write_text(f"{number}\n" * 100)
        [(_, _, only_there)] = tb.engine._context.store.tree(tb.find("turn:2").tree)
        tb.prune(tb.plan_prune(["turn:1", "turn:2"]))
        [trash] = tb.trash()
        assert tb.verify(read_data=True).problems == ()
        garble(tb.engine._context.store, only_there)
    with Takeback.open(workspace) as tb:
        found = tb.verify(read_data=True).problems
    whose = {one.what: one for one in found if "trash" in one.what}
    assert [*whose] == [f"the trash of prune {trash.id}"]
    assert "a.txt" in whose[f"the trash of prune {trash.id}"].detail
    assert [one for one in found if one.checkpoint] == [], "no checkpoint lost anything"
