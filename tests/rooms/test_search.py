"""A search answers with the place to go back to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.app.session import AgentSession
from takeback.errors import UsageError
from takeback.timeline import look
from takeback.words.sessions import command
from tests.support.journey import write_files


class Heard:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[tuple[str, int, int]] = []

    def progress(self, what: str, done: int, total: int) -> None:
        self.steps.append((what, done, total))

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def tb(workspace: Path, heard: Heard) -> Iterator[Takeback]:
    write_files(workspace, {"src/m3.py": b"def old():\n    return 1\n", "a.txt": b"0\n"})
    with Takeback.open(workspace, reporter=heard) as tb:
        yield tb


@pytest.fixture
def session(tb: Takeback) -> AgentSession:
    return tb.session(agent="mine", native="s1")


def finds(tb: Takeback, *words: str) -> list[tuple[str | None, int | None, str | None]]:
    """Returns what became of each path, the turn it was found in, and where to go back to."""
    return [
        (item.change, item.checkpoint.turn, item.place.prompt or item.place.label)
        for item in tb.search(*words)
        if item.what == "path"
    ]


def test_a_path_leads_to_the_place_before_its_change(
    tb: Takeback, session: AgentSession, workspace: Path
) -> None:
    tb.checkpoint("start")
    with session.turn("create it"):
        write_files(workspace, {"src/new.py": b"1\n"})
    with session.turn("change it"):
        write_files(workspace, {"src/new.py": b"2\n", "src/m3.py": b"2\n"})
        session.tell("round_end")
        write_files(workspace, {"src/new.py": b"3\n"})
    with session.turn("delete it"):
        (workspace / "src/new.py").unlink()
        (workspace / "src/m3.py").unlink()
    assert finds(tb, "new.py") == [
        ("deleted", 3, "delete it"),
        ("changed", 2, "change it"),
        ("created", 1, None),  # its end: before it there was no such file
    ]
    deleted, *_ = tb.search("M3.py")
    assert tb.cat(deleted.place, str(workspace / "src/m3.py")) == b"2\n"
    argv = command(deleted, tb.root)
    assert argv is not None
    assert argv[:4] == ["takeback", "rewind", deleted.place.id, "--"]
    tb.rewind(argv[2], [os.path.abspath(argv[4])])  # as a command takes it
    assert (workspace / "src/m3.py").read_bytes() == b"2\n"


def test_a_created_file_leads_to_a_place_that_has_it(
    tb: Takeback, session: AgentSession, workspace: Path
) -> None:
    tb.checkpoint("start")
    with session.turn("create it"):
        write_files(workspace, {"src/new.py": b"1\n"})
        session.tell("round_end")
        write_files(workspace, {"src/new.py": b"2\n"})
    with session.turn("delete it"):
        (workspace / "src/new.py").unlink()
    created = tb.search("new.py")[-1]
    assert created.change == "created"
    argv = command(created, tb.root)
    assert argv is not None
    tb.rewind(argv[2], [os.path.abspath(argv[4])])
    assert (workspace / "src/new.py").read_bytes() == b"2\n"


def test_what_came_and_went_within_a_turn_leads_to_where_it_was(
    tb: Takeback, session: AgentSession, workspace: Path
) -> None:
    with session.turn("try something"):
        write_files(workspace, {"brief.py": b"1\n"})
        session.tell("round_end")
        (workspace / "brief.py").unlink()
        session.tell("round_end")
    (found,) = tb.search("brief")
    assert (found.change, found.place.kind) == ("deleted", "round")
    assert tb.cat(found.place, str(workspace / "brief.py")) == b"1\n"


def test_own_edits_lead_to_the_checkpoint_before_them(tb: Takeback, workspace: Path) -> None:
    tb.checkpoint("one")
    (workspace / "a.txt").unlink()
    tb.checkpoint("two")
    assert finds(tb, "a.txt") == [("deleted", None, "one")]


def test_words_of_a_command_are_meant_from_where_one_stands(
    tb: Takeback, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tb.checkpoint("one")
    write_files(workspace, {"src/a b.py": b"1\n"})
    (workspace / "src" / "x\udcff.py").write_bytes(b"1\n")
    tb.checkpoint("two")
    monkeypatch.chdir(workspace / "src")
    by_path = {item.path: command(item, tb.root) for item in tb.search(".py")}
    (id,) = {item.place.id for item in tb.search(".py")}
    assert by_path == {
        b"src/a b.py": ["takeback", "rewind", id, "--", "a b.py"],
        b"src/x\xff.py": None,
    }


def test_nothing_is_no_text(tb: Takeback) -> None:
    tb.checkpoint()
    for words in ((), ("",), ("a", "")):
        with pytest.raises(UsageError):
            tb.search(*words)


# -- inside files


def test_contents_of_all_snapshots_each_version_once(
    tb: Takeback, session: AgentSession, workspace: Path
) -> None:
    write_files(workspace, {"copy.py": b"def old():\n    return 1\n", "bin": b"\0def old"})
    tb.checkpoint("start")
    with session.turn("rewrite it"):
        write_files(workspace, {"src/m3.py": b"x = 1\n\n\tdef Old(Argument): pass  # \xff\n"})
    with session.turn("delete it"):
        (workspace / "src/m3.py").unlink()
        (workspace / "copy.py").unlink()
    found = sorted(tb.search("def", "OLD", content=True), key=lambda item: item.path or b"")
    assert [(item.path, item.text, item.place.prompt) for item in found] == [
        (b"copy.py", "def old():", "delete it"),
        (b"src/m3.py", "def Old(Argument): pass  # \ufffd", "delete it"),
    ]
    assert {item.what for item in found} == {"content"}
    assert all(item.change is None for item in found)
    assert tb.search("old()", "return", content=True) == []  # not in one line
    assert len(tb.search("def", content=True, limit=1)) == 1


def test_a_search_in_files_is_bounded_and_says_so(
    tb: Takeback, workspace: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(workspace, {"large.txt": b"needle\n" * 200_000})
    write_files(workspace, {f"d/{number}.txt": b"needle %d\n" % number for number in range(250)})
    tb.checkpoint()
    assert len(tb.search("needle", content=True)) == 250
    assert heard.notes == ["passed over, as larger than 1 MB or not readable: 1"]
    assert heard.steps[-1] == ("searching files", 200, 0)
    heard.notes.clear()
    monkeypatch.setattr(look, "_MOST_BYTES", 100)
    assert 0 < len(tb.search("needle", content=True)) < 20
    assert len(heard.notes) == 1
    assert heard.notes[0].startswith("the search stopped after ")
    heard.notes.clear()
    monkeypatch.setattr(look, "_SECONDS", -1.0)
    assert tb.search("needle", content=True) == []
    assert heard.notes[0].startswith("the search stopped after 0 files")
