"""A person's edits since a checkpoint: those that are still there, whatever was rewound since."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.app import proposal as proposals
from takeback.merge.revert import Edit, _not_taken_back
from takeback.model.conflicts import Pick
from takeback.model.event import EDIT, ToolCall
from takeback.model.operation import moves
from takeback.rewind.request import EDITS, Keeping
from takeback.store import trees
from takeback.words import documents, outcomes

LINES = [f"line {number}" for number in range(30)]


class Person:
    """Edits lines of one text, each with its number; an agent has turns in between."""

    def __init__(self, workspace: Path, tb: Takeback) -> None:
        self.text = workspace / "text"
        self.text.write_text("".join(f"{line}\n" for line in LINES))
        self.tb = tb
        self.session = tb.session(agent="mine", native="s1")

    def edit(self, number: int) -> None:
        self._change(number, "mine")
        self.tb.checkpoint()

    def turn(self, number: int) -> None:
        with self.session.turn(f"change {number}"):
            self._change(number, "the agent's")

    def _change(self, number: int, whose: str) -> None:
        text = self.text.read_text()
        assert f"line {number}\n" in text
        self.text.write_text(text.replace(f"line {number}\n", f"{whose} {number}\n"))

    def kept(self, turn: int) -> list[str]:
        """Returns what would be left of all if the edits since a turn's beginning were kept."""
        name, keeping = f"mine-s1/turn:{turn}", Keeping(EDITS)
        goal = self.tb.plan(name, scope="files", keeping=keeping).goal
        store = self.tb.engine._context.store
        entry = trees.lookup(store, bytes.fromhex(goal.tree), b"text")
        assert entry is not None
        text = store.blob(entry.oid).decode()
        return [line for line in text.splitlines() if line not in LINES]


@pytest.fixture
def person(workspace: Path) -> Iterator[Person]:
    with Takeback.open(workspace) as tb:
        yield Person(workspace, tb)


def test_what_a_rewind_took_back_is_not_brought_again(person: Person) -> None:
    person.turn(0)
    person.edit(3)
    person.turn(6)
    person.edit(9)
    assert person.kept(1) == ["mine 3", "mine 9"]
    person.tb.rewind("mine-s1/turn:2", scope="files")
    assert person.kept(1) == ["mine 3"]
    person.turn(12)
    person.edit(15)
    assert person.kept(1) == ["mine 3", "mine 15"]


def test_undo_and_redo_bring_and_take_the_edits_of_their_operation(person: Person) -> None:
    person.turn(0)
    person.edit(3)
    person.turn(6)
    person.edit(9)
    person.tb.rewind("mine-s1/turn:2", scope="files")
    person.edit(12)
    person.tb.undo()
    assert person.kept(1) == ["mine 3", "mine 9"]
    person.tb.redo()
    assert person.kept(1) == ["mine 3", "mine 12"]
    person.tb.undo()
    assert person.kept(1) == ["mine 3", "mine 9"]


def test_a_rewind_of_some_paths_takes_back_the_edits_in_them(
    person: Person, workspace: Path
) -> None:
    person.turn(0)
    (workspace / "other").write_text("mine\n")
    person.edit(3)
    person.tb.rewind("mine-s1/turn:1", ["text"], scope="files")
    assert person.kept(1) == []
    assert (workspace / "other").exists()
    person.tb.rewind("mine-s1/turn:1", scope="files", keeping=Keeping(EDITS))
    assert (workspace / "other").read_text() == "mine\n"


def test_the_outcome_names_what_was_kept_and_what_stays_changed_outside(
    person: Person, workspace: Path, tmp_path: Path
) -> None:
    with person.tb.session(agent="mine", native="s1").turn("one") as turn:
        (workspace / "made").write_text("the model's\n")
        turn.round([ToolCall("Write", EDIT, (str(tmp_path / "outside"),))])
    (workspace / "other").write_text("mine\n")
    done = person.tb.rewind("mine-s1/turn:1", scope="files", keeping=Keeping(EDITS))
    assert done.edits == (b"other",)
    assert done.beyond == (os.fsencode(tmp_path / "outside"),)
    lines = list(outcomes.outcome_lines(done, None))
    assert "Your own edits since then, kept:" in lines
    assert "Changed by edit tools outside the workspace, and not taken back:" in lines
    assert f"  {tmp_path / 'outside'}" in lines
    told = documents.outcome(done)
    assert [one["path"] for one in told["edits"]] == ["other"]
    assert [one["path"] for one in told["beyond"]] == [str(tmp_path / "outside")]


def test_what_was_kept_once_is_kept_again(person: Person) -> None:
    person.turn(0)
    person.edit(3)
    person.turn(6)
    person.tb.rewind("mine-s1/turn:2", scope="files", keeping=Keeping(EDITS))
    person.edit(9)
    assert person.kept(1) == ["mine 3", "mine 9"]


def test_what_no_checkpoint_has_yet_is_kept_too(person: Person) -> None:
    person.turn(0)
    person.text.write_text(person.text.read_text().replace("line 9\n", "mine 9\n"))
    assert person.kept(1) == ["mine 9"]
    assert person.kept(1) == ["mine 9"]


def pick(person: Person, turn: int, *paths: str, lines: str | None = None) -> None:
    """Takes back files as they are picked one by one; with ``lines`` only those hunks of a text."""
    engine, name = person.tb.engine, f"mine-s1/turn:{turn}"
    asked = proposals.rewind(engine.find(name), paths, scope="files")
    picked: dict[bytes, Pick] = {}
    for offer in engine.offers(asked.plan(engine)):
        text = engine.text_change(offer.change)
        if lines is None or text is None or offer.change.old is None:
            picked |= offer.whole()
            continue
        wanted = [
            one
            for hunk in text.shown()
            for part in text.split(hunk)
            for one in text.replacements(part)
            if lines.encode() in text.patch(part)
        ]
        picked[offer.change.path] = text.pick(offer.change, offer.change.old.mode, wanted)
    asked.choosing(asked.choices.replace(picked=picked)).carry_out(engine)


def test_what_was_picked_to_be_taken_back_is_not_brought_again(
    person: Person, workspace: Path
) -> None:
    person.turn(0)
    (workspace / "other").write_text("mine\n")
    person.edit(3)
    (workspace / "other").write_text("mine, again\n")
    person.edit(6)
    pick(person, 1, "other")
    assert not (workspace / "other").exists()

    def is_kept() -> bool:
        keeping = Keeping(EDITS)
        return b"other" in person.tb.plan("mine-s1/turn:1", scope="files", keeping=keeping).edits

    assert not is_kept()
    assert person.kept(1) == ["mine 3", "mine 6"], "of what was not picked nothing is lost"
    person.tb.undo()
    assert is_kept()
    person.tb.redo()
    assert not is_kept()
    (workspace / "other").write_text("mine, once more\n")
    person.tb.checkpoint()
    assert is_kept()


def test_of_a_file_that_holds_more_an_edit_is_kept_although_a_hunk_of_it_was_picked(
    person: Person,
) -> None:
    """The rule of docs/selective.md: an edit counts as taken back with its whole file only."""
    person.turn(0)
    person.edit(9)
    pick(person, 1, "text", lines="mine 9")
    assert person.kept(1) == [], "all of it is as it was before the edit"
    person.tb.undo()
    person.turn(20)
    pick(person, 1, "text", lines="mine 9")
    now = [line for line in person.text.read_text().splitlines() if line not in LINES]
    assert now == ["the agent's 0", "the agent's 20"]
    assert person.kept(1) == ["mine 9"]


def test_what_an_operation_left_may_be_gone_and_then_takes_no_edit_away(
    person: Person, workspace: Path
) -> None:
    """No checkpoint has the state that picking led to, so the store need not keep it."""
    person.turn(0)
    (workspace / "other").write_text("mine\n")
    person.edit(3)
    pick(person, 1, "text", lines="mine 3")
    [done] = moves(person.tb.operations())
    store, edit = person.tb.engine._context.store, person.tb.find("@").tree
    before = person.tb.find("mine-s1/turn:1.end").tree
    found = [Edit(before, edit, frozenset([b"other"]), done.sequence)]
    assert _not_taken_back(store, found, [done]) == found
    assert _not_taken_back(store, found, [done.replace(after="0" * 40, paths=())]) == found
