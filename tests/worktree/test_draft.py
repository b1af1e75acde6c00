"""What a directory was known for when it is listed again."""

from __future__ import annotations

import pytest

from takeback.model.coverage import EXCLUDED, IGNORED, OVERSIZED
from takeback.worktree.directory import IGNORED_DIRECTORY, SIGNATURE_SIZE, Directory, FileTable
from takeback.worktree.draft import Draft, marks_of, was_ignored


def mark(letter: bytes) -> bytes:
    return letter * SIGNATURE_SIZE


@pytest.fixture
def known() -> Directory:
    """A directory with held, saved, ignored and otherwise missing entries."""
    directory = Directory(b"sub")
    directory.files = FileTable.of(
        [(b"held", mark(b"h"), b"H" * 20), (b"x", mark(b"x"), b"X" * 20)]
    )
    directory.saved = FileTable.of(
        [(b".env", mark(b"e"), b"E" * 20), (b"x.env", mark(b"y"), b"Y" * 20)]
    )
    directory.gaps = {
        b"big": OVERSIZED,
        b"log": IGNORED,
        b"build": IGNORED_DIRECTORY,
        b"z": EXCLUDED,
    }
    directory.tracked = (b"tracked.log",)
    return directory


def test_held_and_saved_files_are_known_by_signature_and_id(known: Directory) -> None:
    assert marks_of(known) == {
        b"held": (mark(b"h"), b"H" * 20),
        b"x": (mark(b"x"), b"X" * 20),
        b".env": (mark(b"e"), b"E" * 20),
        b"x.env": (mark(b"y"), b"Y" * 20),
    }
    assert marks_of(Directory(b"")) == {}


@pytest.mark.parametrize("name", [b"log", b"build", b".env", b"x.env", b"tracked.log"])
def test_what_git_ignored_before_was_ignored(known: Directory, name: bytes) -> None:
    """A tracked file under an ignore rule too: the rule matched, whatever came of it."""
    assert was_ignored(known, name)


@pytest.mark.parametrize("name", [b"held", b"x", b"big", b"z", b"new", b"env", b"", b"x.en"])
def test_what_git_did_not_ignore_was_not(known: Directory, name: bytes) -> None:
    assert not was_ignored(known, name)


def test_of_a_directory_that_nobody_knows_nothing_was_ignored() -> None:
    assert not was_ignored(None, b"log")
    assert not was_ignored(Directory(b""), b"")


def test_a_draft_begins_with_what_is_known_and_nothing_judged(known: Directory) -> None:
    draft = Draft(b"sub", known, ask_again=True)
    assert (draft.path, draft.result.path, draft.known) == (b"sub", b"sub", known)
    assert draft.marks == marks_of(known)
    assert (draft.entries, draft.held, draft.saved, draft.questions) == ({}, {}, {}, ())
    assert draft.settled
    assert draft.result is not known
    assert Draft(b"new", None, ask_again=False).marks == {}
