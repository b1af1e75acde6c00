"""What can be typed to takeback inside each agent, on its real screen.

The pages of the agents show what was seen there: ``TAKEBACK_PICTURES=write pytest
tests/agents/test_inside.py`` writes that anew; read it before you keep it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.claude import Claude
from tests.agents.codex import Codex
from tests.agents.copilot import Copilot
from tests.agents.flow import ONE, TWO, Driver
from tests.agents.gemini import Gemini, typed
from tests.agents.kilo import Kilo
from tests.agents.opencode import OpenCode
from tests.agents.pi import Pi
from tests.agents.qwen import Qwen
from tests.agents.terminal import Terminal, need_tmux
from tests.agents.world import World
from tests.cli.transcript import settled
from tests.support.trees import Entry, differences, tree_state

_PAGES = Path(__file__).resolve().parents[2] / "docs" / "agents"
_WRITE = os.environ.get("TAKEBACK_PICTURES") == "write"  # a test's own environment is sealed
_BEGIN = "<!-- seen on its screen by tests/agents/test_inside.py -->\n```text\n"
_END = "```\n"
_TURNS = r"[a-z0-9]{12} +(\d+[smh]|now)  \w+  turn 2 "
_GO_ON = "Go on with it: "
_AFTER_IT = ("or, inside it: ", "Take it back: ")
_BORDER = "┃"
_FRAME = f"{_BORDER}│█▌ "


@dataclass(frozen=True)
class Host:
    """An agent as a person has it on the screen.

    ``goes_on`` is how the last line about a new session begins. One that ``follows`` goes on there
    by itself, with the prompt that was taken back in its editor. One that ``chooses`` answers the
    bare command and a number by a menu. One that ``looks_on`` takes an Enter for its own completion
    until it has looked at the line. One that ``cuts_words`` needs room for a whole line.
    """

    driver: Callable[..., Driver]
    command: str
    needs: tuple[str, ...] = ()
    goes_on: str = _GO_ON
    follows: bool = False
    chooses: bool = False
    drops_keys: bool = False
    looks_on: bool = False
    cuts_words: bool = False

    def say(self, terminal: Terminal, words: str) -> None:
        """Types a line to takeback, into an empty editor, and sends it."""
        line = f"{self.command} {words}"  # what follows the command closes a menu of commands
        if self.drops_keys:
            return terminal.send(line.rstrip(), typed)
        if self.follows:
            terminal.press("C-u")
        terminal.type(line)
        if self.looks_on:
            terminal.settles(1.0)
        return terminal.press("Enter")


HOSTS = {
    "claude": Host(Claude, "/takeback"),
    "codex": Host(Codex, "takeback", cuts_words=True),
    "copilot": Host(Copilot, "takeback"),
    "gemini": Host(Gemini, "/takeback", drops_keys=True),
    "kilo": Host(Kilo, "/takeback", goes_on="The prompt was: ", follows=True),
    "opencode": Host(OpenCode, "/takeback", goes_on="The prompt was: ", follows=True),
    "pi": Host(Pi, "/takeback", ("node",), "The prompt was: ", follows=True, chooses=True),
    "qwen": Host(Qwen, "/takeback", ("node",), looks_on=True),
}


@dataclass(frozen=True)
class Played:
    """An agent with two turns behind it, connected; what the files were after each."""

    host: Host
    driver: Driver
    session: str
    after_one: dict[bytes, Entry]
    after_two: dict[bytes, Entry]

    def at_a_terminal(self) -> Terminal:
        """Goes on with the session on the agent's screen, and waits until it is there."""
        terminal = self.driver.at_a_terminal(self.driver.resume_line(self.session))
        terminal.shows("Edited one, deleted two, made one.")
        if self.host.cuts_words:
            terminal.resize(200, 50)
        terminal.settles()
        return terminal

    def files_are(self, expected: dict[bytes, Entry]) -> bool:
        return not differences(expected, tree_state(self.driver.world.repo))


# Kilo has opencode's plugin, and is the slowest of them: it is left to the soak.
@pytest.fixture(
    params=[pytest.param(n, marks=pytest.mark.soak if n == "kilo" else ()) for n in HOSTS]
)
def played(
    request: pytest.FixtureRequest, world: World, installed: Callable[[str], Path]
) -> Played:
    need_tmux()
    host = HOSTS[request.param]
    driver = host.driver(world, installed(request.param), *map(installed, host.needs))
    world.model.script = driver.script()
    world.cli.ok("init", driver.name, "--yes")
    session = driver.begin(ONE)
    after_one = tree_state(world.repo)
    driver.go_on(driver.resume_line(session), TWO)
    return Played(host, driver, session, after_one, tree_state(world.repo))


class Seen:
    """What was typed and what the screen showed then, without what is new in each run."""

    def __init__(self, played: Played, terminal: Terminal) -> None:
        self._played, self._terminal = played, terminal
        self._blocks: list[str] = []

    def types(self, words: str, first: str, last: str) -> None:
        """Types words and keeps the answer: from what the first pattern finds to the last text."""
        host, terminal = self._played.host, self._terminal
        before = _between(first, last, terminal.screen)
        host.say(terminal, words)

        def answered(screen: str) -> list[str] | None:
            answer = _between(first, last, screen)
            return None if answer in ([], before) else answer

        answer = terminal.finds(answered, f"see {last!r}")
        line = f"> {host.command} {words}".rstrip()
        self._blocks.append("\n".join([line, *_rejoined(answer)]))

    def __str__(self) -> str:
        text = "\n\n".join(self._blocks)
        project = r"\s*".join(map(re.escape, str(self._played.driver.world.repo)))
        text = re.sub(project, "~/project", text)
        text = text.replace(self._played.session, "OLD")
        text = re.sub(r"(?m)^([a-z0-9]{12}) +\d+[smh]  ", r"\1   now  ", text)
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_\w{26}", "NEW", text)
        return settled(text) + "\n"


def _between(first: str, last: str, screen: str) -> list[str]:
    """Returns the newest lines on a screen from a pattern to a text, without a frame around them.

    Those below the text belong to them, up to an empty one. None if they are not all there.
    """
    lines = screen.splitlines()
    end = max((at for at, line in enumerate(lines) if last in line), default=-1)
    found = [(at, re.search(first, line)) for at, line in enumerate(lines[: end + 1])]
    begins = [(at, match.start()) for at, match in found if match is not None]
    if not begins:
        return []
    begin, column = begins[-1]
    inside = [line[column:].partition(_BORDER)[0].rstrip(_FRAME) for line in lines]
    while any(inside[end + 1 : end + 2]):
        end += 1
    return inside[begin : end + 1]


def _rejoined(lines: list[str]) -> Iterator[str]:
    """Yields lines, and on one what is broken at another place for each name of the project."""
    whole: list[str] = []
    for line in lines:
        if whole and not line.startswith(_AFTER_IT):
            whole.append(line.strip())
            continue
        yield from [" ".join(whole)] if whole else []
        whole = [line] if line.startswith(_GO_ON) else []
        yield from [] if whole else [line]
    yield from [" ".join(whole)] if whole else []


def _begins(text: str, screen: str) -> bool:
    """Tells whether a line of a screen begins with a text, within a frame or not."""
    return any(line.lstrip(_FRAME).startswith(text) for line in screen.splitlines())


@pytest.mark.long
def test_a_turn_is_taken_back_inside_and_no_model_hears_of_it(played: Played) -> None:
    host, world = played.host, played.driver.world
    asked = len(world.model.played())
    with played.at_a_terminal() as terminal:
        seen = Seen(played, terminal)
        if not host.chooses:
            seen.types("", _TURNS, "All that can be typed:")
        plan = "2 both" if host.chooses else "2"
        seen.types(plan, "Rewind 4 files", f"To do it: {host.command} {plan} yes")
        assert played.files_are(played.after_two)
        seen.types("2 yes", "Rewound 4 files", "Take it back: ")
        assert played.files_are(played.after_one)
        if host.follows:
            terminal.until(lambda: _begins(TWO, terminal.screen), "see the prompt in the editor")
        seen.types("undo yes", "Undid the rewind", "Take it back: ")
        assert played.files_are(played.after_two)
        seen.types("fork 2 yes", "Forked from", host.goes_on)
        assert played.files_are(played.after_two)
    assert len(world.model.played()) == asked
    assert [turn["prompt"] for turn in world.log()] == [ONE, TWO]
    shows(played.driver.name, str(seen))


@pytest.mark.soak
def test_each_form_can_be_typed(played: Played) -> None:
    """All of docs/inside.md, each seen to be done by what it did to the files."""
    host, world = played.host, played.driver.world
    mine = world.repo / "mine.txt"
    merging = world.repo / ".git" / "MERGE_HEAD"

    with played.at_a_terminal() as terminal:

        def looks(words: str, answer: str) -> None:
            host.say(terminal, words)
            terminal.shows(answer)
            assert played.files_are(played.after_two)

        def does(words: str, files: dict[bytes, Entry]) -> None:
            host.say(terminal, words)
            terminal.until(lambda: played.files_are(files), f"have {words!r} done")
            terminal.settles()  # the answer is there

        looks("help", f"{host.command} redo yes")
        looks("status", "in the store: ")
        looks("0s", "Nothing to do: the files are already at ")
        looks("fork 2", f"To do it: {host.command} fork 2 yes")
        looks("9 yes", f"its turns are 1 to 2: {host.command}")
        does("2 files yes", played.after_one)
        does("undo yes", played.after_two)
        does("redo yes", played.after_one)
        does("undo yes", played.after_two)
        does("revert 2 yes", played.after_one)
        does("undo yes", played.after_two)
        does("2 files mine yes", played.after_one)
        does("undo yes", played.after_two)
        does("1.end files yes", played.after_one)
        does("undo yes", played.after_two)
        merging.write_text("0" * 40 + "\n")
        looks("2 files yes", "a git merge is in progress here")
        does("2 files yes --during-git", played.after_one)
        merging.unlink()
        does("undo yes", played.after_two)
        mine.write_text("typed by me")
        kept = {**played.after_one, b"mine.txt": tree_state(world.repo)[b"mine.txt"]}
        does("2 files keep-edits yes", kept)
        mine.unlink()
        does("fork 2 files yes", played.after_one)
    assert [turn["prompt"] for turn in world.log()] == [ONE, TWO]


def shows(agent: str, text: str) -> None:
    """Compares what an agent's page shows with what was seen, or writes it there."""
    page = _PAGES / f"{agent}.md"
    before, begin, rest = page.read_text().partition(_BEGIN)
    assert begin, f"{page} has no place for it"
    kept, end, after = rest.partition(_END)
    if _WRITE:
        page.write_text("".join((before, begin, text, end, after)))
    else:
        assert kept == text
