"""A name that a listing lacks is not gone: btrfs leaves out what is just being replaced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.context import Context
from takeback.model.event import PROMPT, AgentEvent
from takeback.model.ids import SessionId
from takeback.ordinary import all_names
from takeback.store import location, notes, pending
from takeback.store.namespace import SESSIONS, session_ref
from takeback.store.repack import whole_packs
from takeback.store.trust import Trust
from tests.support.engine import captured, checkpoint, opened, packs_of, under_lock


class _Lacking:
    """A listing without one name, as ``os.scandir`` gives it."""

    def __init__(self, listing: Iterator[os.DirEntry[str]], name: str) -> None:
        self._found = [entry for entry in listing if entry.name != name]

    def __enter__(self) -> Iterator[os.DirEntry[str]]:
        return iter(self._found)

    def __exit__(self, *exc: object) -> None:
        return None


@contextmanager
def one_listing_lacks(name: str, *, at: int = 1, many: int = 1) -> Iterator[list[str]]:
    """Has the ``at``-th listing that would have a name lack it, and ``many`` of them."""
    list_names, scan = os.listdir, os.scandir
    lacked: list[str] = []
    count = 0

    def is_hidden(names: list[str]) -> bool:
        nonlocal count
        count += name in names
        if name not in names or not at <= count < at + many:
            return False
        lacked.append(name)
        return True

    def lacking_names(path: str | int = ".") -> list[str]:
        names = list_names(path)
        return [one for one in names if one != name] if is_hidden(names) else names

    def lacking_scan(path: str | int = ".") -> object:
        return _Lacking(scan(path), name) if is_hidden(list_names(path)) else scan(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "listdir", lacking_names)
        patch.setattr(os, "scandir", lacking_scan)
        yield lacked


@pytest.fixture
def context(workspace: Path) -> Iterator[Context]:
    """A workspace with two sessions, one of whose turns is open, a file and an event that waits."""
    with opened(workspace) as context:
        (workspace / "kept").write_bytes(b"kept")
        checkpoint(context)
        checkpoint(context, session="other")
        under_lock(context, lambda it: notes.note_turn(it.lock, SessionId("other"), is_open=True))
        event = AgentEvent(kind=PROMPT, agent="mine", session="s", directory=str(workspace))
        pending.leave(context.store, event, 1.0, ())
        yield context


def _is_read(context: Context) -> bool:
    tip = context.store.refs.read(session_ref(str(context.store.machine), "other"))
    assert tip is not None
    context.store.reopen_packs()
    return context.store.packs.has(tip)


Question = Callable[[Context], object]
QUESTIONS: dict[str, tuple[Question, Callable[[Context], str]]] = {
    "the refs": (lambda it: it.store.refs.list(SESSIONS), lambda it: "other"),
    "a machine's refs": (
        lambda it: it.store.refs.names(SESSIONS + str(it.store.machine)),
        lambda it: "other",
    ),
    "the packs": (lambda it: sorted(it.store.pack_names()), lambda it: _pack(it) + ".pack"),
    "the packs with an index": (
        lambda it: sorted(whole_packs(it.store)),
        lambda it: _pack(it) + ".idx",
    ),
    "the packs that are read": (
        _is_read,
        lambda it: _pack(it) + ".idx",
    ),
    "the packs that are believed": (
        lambda it: under_lock(it, lambda one: Trust(one.store).check(one.lock)),
        lambda it: _pack(it) + ".pack",
    ),
    "what waits": (
        lambda it: [one.name for one in pending.read(it.store)],
        lambda it: os.listdir(it.store.path("pending"))[0],
    ),
    "whether anything waits": (
        lambda it: pending.any_left(it.store),
        lambda it: os.listdir(it.store.path("pending"))[0],
    ),
    "open turns": (lambda it: notes.with_open_turn(it.store), lambda it: "other"),
    "all workspaces": (
        lambda it: [one.directory for one in location.all_locations(it.store.location.home)],
        lambda it: os.path.basename(it.store.directory),
    ),
}


def _pack(context: Context) -> str:
    return packs_of(context.store)[-1].stem


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_name_that_one_listing_lacks_is_there(context: Context, question: str, at: int) -> None:
    ask, name_of = QUESTIONS[question]
    name, answer = name_of(context), ask(context)
    with one_listing_lacks(name, at=at) as lacked:
        assert ask(context) == answer
    assert lacked or at > 1


@pytest.mark.parametrize("at", [1, 2])
def test_a_file_that_a_listing_lacks_is_not_captured_as_deleted(
    workspace: Path, context: Context, at: int
) -> None:
    new = workspace / "new"
    new.write_bytes(b"so that it is listed")
    tree = captured(context).tree
    new.unlink()
    captured(context)
    new.write_bytes(b"so that it is listed")
    with one_listing_lacks("kept", at=at) as lacked:
        assert captured(context).tree == tree
    assert lacked


def test_a_session_whose_ref_no_listing_has_is_still_shown(workspace: Path) -> None:
    """Its name is known: it is opened before it counts as gone."""
    with Takeback.open(workspace) as tb:
        for number in range(3):
            for native in ("s1", "s2"):
                with tb.session("mine", native).turn(f"turn {number}"):
                    (workspace / native).write_text(str(number))
        before = [entry.checkpoint.id for entry in tb.checkpoints(everything=True)]
    with Takeback.open(workspace) as tb:
        tb.checkpoint()
        with one_listing_lacks("mine-s1", many=1_000) as lacked:
            shown = [entry.checkpoint.id for entry in tb.checkpoints(everything=True)]
        assert lacked
        assert set(before) <= set(shown)
        assert tb.verify().problems == ()


def test_a_name_that_is_gone_is_gone(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "stays").touch()
    (place / "goes").touch()
    list_names = os.listdir

    def then_it_goes(path: str) -> list[str]:
        names = list_names(path)
        (place / "goes").unlink(missing_ok=True)
        return names

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "listdir", then_it_goes)
        assert all_names(str(place)) == ["stays"]


def test_an_open_directory_is_listed_as_it_is_now(tmp_path: Path) -> None:
    """btrfs lists what was there when it was opened, or rewound; others what is there."""
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        for name in ("one", "two"):
            (tmp_path / name).touch()
            assert name in all_names(fd)
    finally:
        os.close(fd)
