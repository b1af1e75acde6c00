"""News: each thing that happens is told once, in its order, or it is said that much happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback import rooms
from takeback.app.engine import Engine
from takeback.model.coverage import Overrides
from takeback.model.entries import NewsMark
from takeback.timeline.timeline import Happening


def told(found: list[Happening] | None) -> list[str]:
    """Returns of each the label of its checkpoint, or what kind of operation it was."""
    assert found is not None
    words = []
    for one in found:
        if one.entry is not None:
            words.append(one.entry.checkpoint.label or "")
        elif one.logged is not None:
            words.append(one.logged.operation.kind)
    return words


def make(tb: Engine, workspace: Path, name: str) -> None:
    (workspace / "a").write_text(name)
    tb.checkpoint(name)


def test_what_happens_while_one_asks_is_told_once(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen_now = rooms.timeline.seen_now
    names = iter(("second", "third"))

    def and_meanwhile(*args: object, **options: object) -> NewsMark:
        found = seen_now(*args, **options)  # type: ignore[arg-type]
        with Engine.open(workspace) as other:
            if name := next(names, None):
                make(other, workspace, name)
                other.sessions()  # and the ledger knows it
        return found

    with Engine.open(workspace) as tb:
        make(tb, workspace, "before")
        mark = tb.seen_now()
        make(tb, workspace, "first")
        monkeypatch.setattr(rooms.timeline, "seen_now", and_meanwhile)
        heard = []
        for _ in range(4):
            found, mark = tb.news(mark)
            heard += told(found)
        assert heard == ["first", "second", "third"]


def test_checkpoints_and_operations_are_told_in_their_order(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        make(tb, workspace, "one")
        make(tb, workspace, "two")
        mark = tb.seen_now()
        tb.rewind("one", scope="files", overrides=Overrides(mass_delete=True))
        tb.undo()
        make(tb, workspace, "three")
        tb.rewind("two", scope="files")
        make(tb, workspace, "four")
        found, mark = tb.news(mark)
        assert told(found) == ["rewind", "undo", "three", "rewind", "four"]
        assert told(tb.news(mark)[0]) == []


def test_after_the_ledger_was_made_anew_nothing_is_lost_unsaid(workspace: Path) -> None:
    """Places in it are counted anew: what is new could stand below the one that was last told."""
    with Engine.open(workspace) as tb:
        for number in range(6):
            make(tb, workspace, f"c{number}")
        mark = tb.seen_now()
    store = Path(tb.store_directory)
    with Engine.open(workspace) as tb:
        gone = mark.replace(position=mark.position + 3, newest="one that was dropped")
        for number in range(6):
            make(tb, workspace, f"n{number}")
        assert tb.news(gone)[0] is None
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (store / name).unlink(missing_ok=True)
    with Engine.open(workspace) as tb:
        found, _ = tb.news(mark)
        assert found is None or told(found) == [f"n{number}" for number in range(6)]
