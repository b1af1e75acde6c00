"""Random rounds of two sessions at once: what one did is taken back, and all of the other's stays.

Each has its own lines, two apart from those of the other; where both only add lines to the end of a
file, every line touches one of the other's.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.agents import ToolCall
from takeback.app.session import AgentTurn
from takeback.rewind.request import ALL_OTHERS, Keeping
from tests.support.lanes import shares

LINES = 25
FILES = ("a", "b/c")
MADE = "made/by whoever is first"
ROUNDS = 8
HISTORIES = 300


class Rounds:
    """Which lines each of the two has set, by file, and what each added to the new file."""

    def __init__(self, workspace: Path, chance: random.Random) -> None:
        self.workspace = workspace
        self.chance = chance
        self.set: dict[tuple[str, int], tuple[int, str]] = {}
        self.added: list[tuple[int, str]] = []

    def live(self, turns: tuple[AgentTurn, AgentTurn]) -> None:
        for at in range(ROUNDS):
            who = self.chance.choice((0, 1))
            names = self.chance.sample([*FILES, MADE], self.chance.randint(1, 2))
            for name in names:
                if name == MADE:
                    self.added.append((who, f"{who} at {at}"))
                else:
                    line = 4 * self.chance.randrange(LINES // 4) + 2 * who
                    self.set[name, line] = who, f"{who} at {at}"
            self.write((0, 1))
            told = ToolCall("Edit", "edit", tuple(str(self.workspace / name) for name in names))
            turns[who].round([self.chance.choice((told, ToolCall("Bash", "shell")))])

    def of(self, who: tuple[int, ...]) -> dict[str, str | None]:
        """Returns what the files hold if only some of the two had been there."""
        found: dict[str, str | None] = {}
        for name in FILES:
            some = ((line, self.set.get((name, line), (2, ""))) for line in range(LINES))
            lines = [text if by in who else f"line {line}" for line, (by, text) in some]
            found[name] = "".join(f"{line}\n" for line in lines)
        found[MADE] = "".join(f"{text}\n" for by, text in self.added if by in who) or None
        return found

    def write(self, who: tuple[int, ...]) -> None:
        for name, text in self.of(who).items():
            path = self.workspace / name
            if text is not None:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)

    def found(self) -> dict[str, str | None]:
        paths = ((name, self.workspace / name) for name in (*FILES, MADE))
        return {name: path.read_text() if path.exists() else None for name, path in paths}


@pytest.mark.slow
@shares(HISTORIES, long=6)
def test_of_two_at_once_each_is_taken_back_alone(workspace: Path, share: int) -> None:
    rounds = Rounds(workspace, random.Random(share))
    rounds.write(())
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        sessions = [tb.session(name, "s") for name in ("zero", "one")]
        with sessions[0].turn("do") as first, sessions[1].turn("do") as second:
            rounds.live((first, second))
        both = rounds.of((0, 1))
        for who, session in enumerate(sessions):
            turn = f"{session.id}/turn:1"
            left = rounds.of((1 - who,))
            tb.revert([turn])
            assert rounds.found() == left, who
            if left != both:
                tb.undo()
            tb.rewind(turn, scope="files", keeping=Keeping(ALL_OTHERS))
            assert rounds.found() == left, who
            if left != both:
                tb.undo()
            assert rounds.found() == both
