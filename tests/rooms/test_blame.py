"""Blame over random histories: every line says in its own text who wrote it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.app.engine import Engine
from takeback.blame import BY_HAND, BY_TURN, FIRST, Author
from takeback.errors import Refused
from takeback.model.conflicts import ConflictChoices
from takeback.model.coverage import Overrides
from takeback.words.blame import document


def name_of(author: Author) -> str:
    if author.kind == BY_TURN and author.turn is not None:
        return author.turn.prompt or ""
    return {BY_HAND: "person", FIRST: "first"}.get(author.kind, author.kind)


def change(luck: random.Random, path: Path, author: str, number: int) -> None:
    """Deletes, replaces and adds some lines; what is new has its author's name in it."""
    lines = path.read_text().splitlines()
    for _ in range(luck.randrange(1, 4)):
        at = luck.randrange(len(lines) + 1)
        end = min(len(lines), at + luck.randrange(3))
        lines[at:end] = [
            f"{author}, {number}.{luck.randrange(10**9)}" for _ in range(luck.randrange(3))
        ]
    path.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("seed", range(2))
def test_every_line_is_its_authors(workspace: Path, seed: int) -> None:
    luck = random.Random(seed)
    path = workspace / "text"
    path.write_text("".join(f"first, {number}\n" for number in range(10)))
    allowed = Overrides.all()
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        seen = [tb.find("@").id]
        sessions = [tb.session(agent="mine", native=f"s{number}") for number in range(2)]
        for number in range(14):
            how = luck.choice(("turn", "turn", "turn", "edit", "rewind", "undo", "revert", "move"))
            if how == "turn":
                with luck.choice(sessions).turn(f"turn {number}") as turn:
                    change(luck, path, f"turn {number}", number)
                seen += [turn.before.id, turn.after.id]
            elif how == "edit":
                change(luck, path, "person", number)
                tb.checkpoint()
            elif how == "rewind":
                tb.rewind(luck.choice(seen), scope="files", overrides=allowed)
            elif how == "revert" and len(seen) > 1:
                choices = ConflictChoices(otherwise="theirs")
                tb.revert([luck.choice(seen[1:])], choices=choices, overrides=allowed)
            elif how == "move":
                with sessions[0].turn(f"move {number}"):
                    path = path.rename(workspace / f"text {number}")
            else:
                try:
                    tb.undo(overrides=allowed)
                except Refused:  # nothing was done yet
                    continue
            path = next(workspace.glob("text*"))
            if path.stat().st_size:
                found = tb.blame(str(path))
                told = [(name_of(one.author), one.text.decode()) for one in found.lines]
                assert [text.partition(",")[0] for _, text in told] == [who for who, _ in told]
                assert b"".join(one.text for one in found.lines) == path.read_bytes()


def test_the_document_names_each_author_once(workspace: Path) -> None:
    path = workspace / "text"
    path.write_text("first\n" * 3)
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        with tb.session(agent="mine").turn("more"):
            path.write_text("first\n" * 3 + "more\nand more\n")
    with Engine.open(workspace) as engine:
        made = document(engine.blame(str(path)))
    assert [one["kind"] for one in made["authors"]] == [FIRST, BY_TURN]
    assert [one["author"] for one in made["lines"]] == [0, 0, 0, 1, 1]
