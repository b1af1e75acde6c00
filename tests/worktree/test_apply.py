"""Units carried out: each path its old or its new version, edits in between untouched."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from takeback import durable, kernel
from takeback.errors import StoreDamaged
from takeback.model.checkpoint import DIRECTORY, Entry
from takeback.worktree.apply import Applied, Apply, Inside, Unit
from takeback.worktree.resume import CHANGED, is_exactly
from tests.support.engine import Blobs, Heard, file_entry, link_entry
from tests.support.trees import Entry as Found
from tests.support.trees import tree_state

TOKEN = "abcdefghjkmn"
OLD, NEW = file_entry(b"old"), file_entry(b"new", 0o640)
BLOBS = Blobs(b"old", b"new", b"target", b"2")
FOLDER = Entry(DIRECTORY | 0o755, b"")
PRIVATE = Entry(DIRECTORY | 0o700, b"")


@pytest.fixture(params=["exchange", "no exchange", "neither exchange nor free names"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """File systems differ in what they can do; the outcome must not."""

    def unsupported(*args: object) -> None:
        raise kernel.Unsupported

    if request.param != "exchange":
        monkeypatch.setattr(kernel, "exchange", unsupported)
    if request.param.startswith("neither"):
        monkeypatch.setattr(kernel, "rename_to_free_name", unsupported)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    fd = os.open(root, os.O_RDONLY)
    yield fd
    os.close(fd)


def apply(fd: int, *units: Unit) -> Applied:
    numbered = [unit.replace(number=number) for number, unit in enumerate(units)]
    return Apply(fd, numbered, TOKEN, BLOBS, Heard()).run()


def put(root: Path, name: str, content: str = "old", mode: int = 0o644) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
    return path


def names(root: Path) -> list[bytes]:
    return sorted(tree_state(root))


def reasons(applied: Applied) -> dict[bytes, str]:
    return {item.path: item.reason for item in applied.left_alone}


# -- each row of the table in apply.py


def test_nothing_becomes_a_file(root: Path, fd: int, way: str) -> None:
    applied = apply(fd, Unit(0, b"f", None, NEW))
    assert (applied.written, applied.deleted, applied.left_alone) == ((b"f",), (), ())
    assert tree_state(root) == {b"f": Found("file", 0o640, b"new")}


def test_a_file_becomes_another_file_or_a_link(root: Path, fd: int, way: str) -> None:
    put(root, "f")
    put(root, "g")
    units = Unit(0, b"f", OLD, NEW), Unit(0, b"g", OLD, link_entry(b"target"))
    assert apply(fd, *units).written == (b"f", b"g")
    assert names(root) == [b"f", b"g"]
    assert (root / "f").read_text() == "new"
    assert os.readlink(root / "g") == "target"


def test_a_file_becomes_a_directory(root: Path, fd: int, way: str) -> None:
    put(root, "d")
    inside: Inside = ((b"e", PRIVATE), (b"e/f", NEW))
    applied = apply(fd, Unit(0, b"d", OLD, FOLDER, inside_new=inside))
    assert applied.written == (b"d", b"d/e", b"d/e/f")
    assert tree_state(root) == {
        b"d": Found("directory", 0o755),
        b"d/e": Found("directory", 0o700),
        b"d/e/f": Found("file", 0o640, b"new"),
    }


def test_a_directory_becomes_a_file(root: Path, fd: int, way: str) -> None:
    put(root, "d/e/f")
    inside: Inside = ((b"e", FOLDER), (b"e/f", OLD))
    applied = apply(fd, Unit(0, b"d", FOLDER, NEW, inside_old=inside))
    assert (applied.written, applied.deleted) == ((b"d",), (b"d/e/f",))
    assert tree_state(root) == {b"d": Found("file", 0o640, b"new")}


def test_a_directory_gets_other_permission_bits(root: Path, fd: int) -> None:
    put(root, "d/f")
    applied = apply(fd, Unit(0, b"d", FOLDER, PRIVATE), Unit(0, b"d/f", OLD, NEW))
    assert applied.written == (b"d", b"d/f")
    assert (root / "d").stat().st_mode & 0o777 == 0o700


def test_files_and_empty_directories_go(root: Path, fd: int, way: str) -> None:
    put(root, "d/e/f")
    units = (
        Unit(0, b"d", FOLDER, None),
        Unit(0, b"d/e", FOLDER, None),
        Unit(0, b"d/e/f", OLD, None),
    )
    assert apply(fd, *units).deleted == (b"d", b"d/e", b"d/e/f")
    assert names(root) == []


def test_what_is_gone_already_counts_as_deleted(root: Path, fd: int) -> None:
    applied = apply(fd, Unit(0, b"f", OLD, None), Unit(0, b"d", FOLDER, None))
    assert (applied.deleted, applied.left_alone) == ((b"d", b"f"), ())


# -- an edit since the plan was made


@pytest.mark.parametrize(
    ("unit", "make"),
    [
        pytest.param(Unit(0, b"p", OLD, NEW), lambda root: put(root, "p", "edited"), id="edited"),
        pytest.param(
            Unit(0, b"p", OLD, NEW), lambda root: put(root, "p", "old", 0o755), id="mode changed"
        ),
        pytest.param(
            Unit(0, b"p", OLD, NEW), lambda root: (root / "p").symlink_to("x"), id="now a link"
        ),
        pytest.param(Unit(0, b"p", OLD, NEW), lambda root: put(root, "p/f"), id="now a directory"),
        pytest.param(Unit(0, b"p", None, NEW), lambda root: put(root, "p"), id="appeared"),
        pytest.param(
            Unit(0, b"p", OLD, None), lambda root: put(root, "p", "edited"), id="edited, to delete"
        ),
        pytest.param(
            Unit(0, b"p", OLD, None), lambda root: put(root, "p/f"), id="a directory, to delete"
        ),
        pytest.param(
            Unit(0, b"p", OLD, FOLDER, inside_new=((b"f", NEW),)),
            lambda root: put(root, "p", "edited"),
            id="edited, becomes a directory",
        ),
        pytest.param(
            Unit(0, b"p", FOLDER, NEW, inside_old=((b"f", OLD),)),
            lambda root: (put(root, "p/f"), put(root, "p/g")),
            id="a new file in a directory that makes way",
        ),
        pytest.param(
            Unit(0, b"p", FOLDER, NEW, inside_old=((b"f", OLD),)),
            lambda root: put(root, "p/f", "edited"),
            id="an edited file in a directory that makes way",
        ),
        pytest.param(
            Unit(0, b"p", FOLDER, PRIVATE),
            lambda root: (put(root, "p/f"), (root / "p").chmod(0o711)),
            id="other bits",
        ),
    ],
)
def test_an_edit_in_between_stays_is_named_and_nothing_is_left_beside_it(
    root: Path, fd: int, way: str, unit: Unit, make: Callable[[Path], object]
) -> None:
    make(root)
    put(root, "other")
    before = tree_state(root, identity=True)
    applied = apply(fd, unit, Unit(0, b"other", OLD, NEW))
    assert list(reasons(applied)) == [b"p"]
    assert way != "exchange" or reasons(applied)[b"p"] == CHANGED
    assert applied.written == (b"other",)
    after = tree_state(root, identity=True)
    assert after.pop(b"other").content == b"new"
    before.pop(b"other")
    assert after == before


def test_a_directory_that_was_edited_is_not_out_of_its_place_for_a_moment(
    root: Path, fd: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "d/f", "edited")
    steps: list[str] = []

    class Recorder:
        def step(self, name: str) -> None:
            steps.append(name)

    monkeypatch.setattr(durable, "faults", Recorder())
    apply(fd, Unit(0, b"d", FOLDER, NEW, inside_old=((b"f", OLD),)))
    assert {"exchange", "rename", "link"}.isdisjoint(steps)


def test_a_directory_that_is_not_empty_stays(root: Path, fd: int) -> None:
    put(root, "d/new", "by hand")
    applied = apply(fd, Unit(0, b"d", FOLDER, None), Unit(0, b"d/f", OLD, None))
    assert list(reasons(applied)) == [b"d"]
    assert names(root) == [b"d", b"d/new"]


def test_a_directory_swapped_for_a_link_leads_nowhere(tmp_path: Path, root: Path, fd: int) -> None:
    (tmp_path / "elsewhere").mkdir()
    put(tmp_path, "elsewhere/f")
    (root / "d").symlink_to(tmp_path / "elsewhere")
    before = tree_state(tmp_path / "elsewhere", identity=True)
    applied = apply(
        fd, Unit(0, b"d/f", OLD, NEW), Unit(0, b"d/g", None, NEW), Unit(0, b"d/h", OLD, None)
    )
    assert set(reasons(applied)) == {b"d/f", b"d/g", b"d/h"}
    assert tree_state(tmp_path / "elsewhere", identity=True) == before


@pytest.mark.parametrize("edited", [True, False])
@pytest.mark.parametrize(
    ("unit", "name"),
    [
        pytest.param(Unit(0, b"p", OLD, FOLDER), "p", id="a file makes way"),
        pytest.param(
            Unit(0, b"p", FOLDER, NEW, inside_old=((b"f", OLD),)), "p/f", id="a directory makes way"
        ),
    ],
)
def test_without_exchange_what_was_moved_aside_is_never_lost_when_its_name_is_taken_again(
    root: Path,
    fd: int,
    monkeypatch: pytest.MonkeyPatch,
    unit: Unit,
    name: str,
    edited: bool,
) -> None:
    """Somebody writes to the old file, or only makes a new one, while the path is aside."""
    put(root, name)

    def unsupported(*args: object) -> None:
        raise kernel.Unsupported

    def looked_at(at: int, what: bytes, entry: Entry | None, inside: Inside = ()) -> bool:
        if not (root / "p").exists():
            put(root, "p", "saved again")
            if edited:
                put(root, os.fsdecode(what) + ("/g" if inside else ""), "edited meanwhile")
        return is_exactly(at, what, entry, inside)

    monkeypatch.setattr(kernel, "exchange", unsupported)
    monkeypatch.setattr("takeback.worktree.replacement.is_exactly", looked_at)
    applied = apply(fd, unit)
    assert list(reasons(applied)) == [b"p"]
    assert (root / "p").read_text() == "saved again"
    kept = {entry.content for entry in tree_state(root).values()}
    assert not edited or b"edited meanwhile" in kept


# -- what one path meets does not stop the others


def test_a_path_that_cannot_be_replaced_is_named_and_its_copy_goes(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for an immutable file or the place of a mount."""
    put(root, "a")
    put(root, "b")
    real = kernel.exchange

    def refuse(dir_fd: int, one: bytes, other: bytes) -> None:
        if other == b"a":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        real(dir_fd, one, other)

    monkeypatch.setattr(kernel, "exchange", refuse)
    applied = apply(fd, Unit(0, b"a", OLD, NEW), Unit(0, b"b", OLD, NEW))
    assert reasons(applied) == {b"a": "operation not permitted"}
    assert applied.written == (b"b",)
    assert names(root) == [b"a", b"b"]


def test_without_exchange_and_hard_links_the_path_is_named_and_its_copy_goes(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "a")

    def unsupported(*args: object) -> None:
        raise kernel.Unsupported

    def no_links(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(kernel, "exchange", unsupported)
    monkeypatch.setattr(os, "link", no_links)
    applied = apply(fd, Unit(0, b"a", OLD, NEW))
    assert applied.written == (b"a",) or reasons(applied) == {b"a": "operation not permitted"}
    assert names(root) == [b"a"]


def test_a_damaged_object_is_named_and_the_rest_is_done(root: Path, fd: int) -> None:
    class Damaged(Blobs):
        def stream(self, oid: bytes, write: Callable[[bytes], None]) -> None:
            if oid == NEW.oid:
                raise StoreDamaged("its bytes have another hash")
            super().stream(oid, write)

    put(root, "a")
    put(root, "b")
    units = [Unit(0, b"a", OLD, NEW), Unit(1, b"b", OLD, file_entry(b"2"))]
    applied = Apply(fd, units, TOKEN, Damaged(b"new", b"2"), Heard()).run()
    assert reasons(applied) == {b"a": "cannot be restored: its bytes have another hash"}
    assert [(root / name).read_text() for name in ("a", "b")] == ["old", "2"]
    assert names(root) == [b"a", b"b"]


def test_a_full_disk_before_the_first_change_can_simply_be_dropped(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "a")
    put(root, "b")
    before = tree_state(root, identity=True)
    steps = 0

    class Full:
        def step(self, name: str) -> None:
            nonlocal steps
            steps += name == "write"
            if steps == 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = Apply(fd, [Unit(0, b"a", OLD, NEW), Unit(1, b"b", OLD, NEW)], TOKEN, BLOBS, Heard())
    with monkeypatch.context() as patch:
        patch.setattr(durable, "faults", Full())
        with pytest.raises(OSError, match="No space left"):
            run.run()
    assert run.changed_nothing
    run.discard_staged()
    assert tree_state(root, identity=True) == before


def test_a_closed_directory_that_is_to_be_open_is_opened_first(root: Path, fd: int) -> None:
    put(root, "d/f")
    (root / "d").chmod(0o500)
    closed = Entry(DIRECTORY | 0o500, b"")
    applied = apply(fd, Unit(0, b"d", closed, FOLDER), Unit(0, b"d/f", OLD, NEW))
    assert (applied.written, applied.left_alone) == ((b"d", b"d/f"), ())
    assert (root / "d").stat().st_mode & 0o777 == 0o755


def test_many_files_are_written_like_few(root: Path, fd: int) -> None:
    units = []
    for number in range(150):
        put(root, f"{number % 70}/f{number}")
        units.append(Unit(0, b"%d/f%d" % (number % 70, number), OLD, NEW))
    applied = apply(fd, *sorted(units, key=lambda unit: unit.path))
    assert len(applied.written) == 150
    assert {entry.content for entry in tree_state(root).values() if entry.kind == "file"} == {
        b"new"
    }


def test_files_that_are_not_part_of_it_are_not_touched(root: Path, fd: int, way: str) -> None:
    put(root, "a")
    put(root, "same")
    put(root, "d/same")
    before = tree_state(root, identity=True)
    apply(fd, Unit(0, b"a", OLD, NEW))
    after = tree_state(root, identity=True)
    assert before.pop(b"a") != after.pop(b"a")
    assert after == before
