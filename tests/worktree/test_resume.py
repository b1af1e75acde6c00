"""Each row of the table in the docstring of resume.py: how far a killed run came."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.model.checkpoint import DIRECTORY, Entry
from takeback.worktree.apply import Inside, Unit
from takeback.worktree.resume import CHANGED, DONE, NEITHER, TO_DO, TWO_VERSIONS, resume
from tests.support.engine import Blobs, file_entry
from tests.support.trees import tree_state

SCRATCH = Unit(0, b"T", None, None).scratch("abcdefghjkmn")
BLOBS = Blobs(b"old", b"new version")
OLD, NEW = file_entry(b"old"), file_entry(b"new version")
FOLDER = Entry(DIRECTORY | 0o755, b"")
INSIDE: Inside = ((b"e", FOLDER), (b"e/x", file_entry(b"old")), (b"y", file_entry(b"old")))

REPLACE = Unit(0, b"T", OLD, NEW)
CREATE = Unit(0, b"T", None, NEW)
DELETE = Unit(0, b"T", OLD, None)
TO_FILE = Unit(0, b"T", FOLDER, NEW, inside_old=INSIDE)
TO_FOLDER = Unit(0, b"T", OLD, FOLDER, inside_new=INSIDE)


class Place:
    """A directory with the place T, the temporary name t and the second one, aside."""

    def __init__(self, root: Path, fd: int) -> None:
        self._root = root
        self._fd = fd
        self._names = {
            "T": root / "T",
            "t": root / os.fsdecode(SCRATCH.temporary),
            "aside": root / os.fsdecode(SCRATCH.aside),
        }

    def put(self, name: str, what: bytes | tuple[str, ...] | None) -> None:
        """Puts a file with these bytes, or a folder with these paths of INSIDE, at a name."""
        path = self._names[name]
        if isinstance(what, bytes):
            path.write_bytes(what)
        elif what is not None:
            path.mkdir()
            for inner in what:
                if inner == "e":
                    (path / "e").mkdir()
                else:
                    (path / inner).write_bytes(b"old" if inner in ("e/x", "y") else b"edited")

    def resume(self, unit: Unit) -> str:
        return resume(self._fd, unit, SCRATCH, BLOBS).outcome

    def now(self) -> dict[str, bytes | tuple[str, ...]]:
        """Returns what is at each name: bytes, or the paths in a folder."""
        found: dict[str, bytes | tuple[str, ...]] = {}
        for name, path in self._names.items():
            if path.is_dir():
                found[name] = tuple(sorted(os.fsdecode(inner) for inner in tree_state(path)))
            elif path.exists():
                found[name] = path.read_bytes()
        assert len(found) == len(os.listdir(self._root))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "root"
    root.mkdir()
    fd = os.open(root, os.O_RDONLY)
    yield Place(root, fd)
    os.close(fd)


WHOLE = ("e", "e/x", "y")
_Content = bytes | tuple[str, ...] | None


@pytest.mark.parametrize(
    ("unit", "at", "temporary", "outcome", "after"),
    [
        # T is new, t absent: done
        (REPLACE, b"new version", None, DONE, {"T": b"new version"}),
        (CREATE, b"new version", None, DONE, {"T": b"new version"}),
        (TO_FOLDER, WHOLE, None, DONE, {"T": WHOLE}),
        # T is new, t is old, or part of it: removed, done
        (REPLACE, b"new version", b"old", DONE, {"T": b"new version"}),
        (TO_FILE, b"new version", WHOLE, DONE, {"T": b"new version"}),
        (TO_FILE, b"new version", ("e", "e/x"), DONE, {"T": b"new version"}),
        (TO_FILE, b"new version", (), DONE, {"T": b"new version"}),
        # T is new, t is else: an edit came in between, it goes back
        (REPLACE, b"new version", b"edited", CHANGED, {"T": b"edited"}),
        (TO_FILE, b"new version", (*WHOLE, "z"), CHANGED, {"T": (*WHOLE, "z")}),
        # ... unless it may be a cut-off copy of ours: both are kept
        (REPLACE, b"new version", b"new", TWO_VERSIONS, {"T": b"new version", "t": b"new"}),
        (REPLACE, b"new version", b"", TWO_VERSIONS, {"T": b"new version", "t": b""}),
        # the same edit was made by hand, and ours is whole
        (REPLACE, b"new version", b"new version", DONE, {"T": b"new version"}),
        # T is old, t anything: not exchanged, t is ours
        (REPLACE, b"old", b"new version", TO_DO, {"T": b"old"}),
        (REPLACE, b"old", b"new v", TO_DO, {"T": b"old"}),
        (REPLACE, b"old", None, TO_DO, {"T": b"old"}),
        (CREATE, None, b"new v", TO_DO, {}),
        (CREATE, None, None, TO_DO, {}),
        (TO_FILE, WHOLE, b"new v", TO_DO, {"T": WHOLE}),
        (TO_FOLDER, b"old", ("e",), TO_DO, {"T": b"old"}),
        # T is else, t is old or ours: somebody was here since
        (REPLACE, b"edited", b"old", NEITHER, {"T": b"edited"}),
        (REPLACE, b"edited", b"new v", NEITHER, {"T": b"edited"}),
        (REPLACE, b"edited", b"new version", NEITHER, {"T": b"edited"}),
        (REPLACE, b"edited", None, NEITHER, {"T": b"edited"}),
        (REPLACE, None, None, NEITHER, {}),
        (CREATE, b"edited", b"new version", NEITHER, {"T": b"edited"}),
        (TO_FILE, b"edited", ("e",), NEITHER, {"T": b"edited"}),
        (TO_FOLDER, b"edited", ("e", "y"), NEITHER, {"T": b"edited"}),
        # T is else, t is else: both are kept
        (REPLACE, b"edited", b"edited too", TWO_VERSIONS, {"T": b"edited", "t": b"edited too"}),
        (TO_FILE, b"edited", ("z",), TWO_VERSIONS, {"T": b"edited", "t": ("z",)}),
        # a deletion: t is old, renamed aside and not removed
        (DELETE, None, b"old", DONE, {}),
        (DELETE, b"old", b"old", TO_DO, {"T": b"old"}),
        (DELETE, b"old", None, TO_DO, {"T": b"old"}),
        (DELETE, None, None, TO_DO, {}),
        # a deletion: t is else, an edit came in between
        (DELETE, None, b"edited", CHANGED, {"T": b"edited"}),
        (DELETE, b"again", b"edited", TWO_VERSIONS, {"T": b"again", "t": b"edited"}),
    ],
)
def test_a_row_of_the_table(
    place: Place,
    unit: Unit,
    at: _Content,
    temporary: _Content,
    outcome: str,
    after: dict[str, bytes | tuple[str, ...]],
) -> None:
    place.put("T", at)
    place.put("t", temporary)
    assert place.resume(unit) == outcome
    assert place.now() == after
    # whatever it did is stable: a second look changes nothing any more
    place.resume(unit)
    assert place.now() == after


@pytest.mark.parametrize(
    ("unit", "at", "temporary", "aside", "outcome", "after"),
    [
        # killed between the rename aside and the rename into place
        (TO_FILE, None, b"new version", WHOLE, TO_DO, {"T": WHOLE}),
        (TO_FOLDER, None, WHOLE, b"old", TO_DO, {"T": b"old"}),
        # killed after the hard link, before the rename
        (REPLACE, b"old", b"new version", b"old", TO_DO, {"T": b"old"}),
        # killed after the rename, before the copy aside was removed
        (REPLACE, b"new version", None, b"old", DONE, {"T": b"new version"}),
        (TO_FILE, b"new version", None, ("e",), DONE, {"T": b"new version"}),
        # an edit is under the name aside
        (
            REPLACE,
            b"new version",
            None,
            b"edited",
            TWO_VERSIONS,
            {"T": b"new version", "aside": b"edited"},
        ),
        (TO_FOLDER, None, WHOLE, b"edited", NEITHER, {"T": b"edited"}),
    ],
)
def test_a_run_without_exchange_is_resumed_too(
    place: Place,
    unit: Unit,
    at: _Content,
    temporary: _Content,
    aside: _Content,
    outcome: str,
    after: dict[str, bytes | tuple[str, ...]],
) -> None:
    place.put("T", at)
    place.put("t", temporary)
    place.put("aside", aside)
    assert place.resume(unit) == outcome
    assert place.now() == after
