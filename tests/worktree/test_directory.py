"""What the stat cache remembers of one directory."""

from __future__ import annotations

import marshal
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.worktree.directory import (
    NEVER_TRUSTED,
    SIGNATURE_SIZE,
    Directory,
    FileTable,
    directory_signature,
    doubted,
    signature,
    undoubted,
)
from takeback.worktree.glance import Belief, ScanTime

_NAMES = st.binary(min_size=1, max_size=6).filter(
    lambda name: b"/" not in name and b"\0" not in name
)
_ROWS = st.dictionaries(
    _NAMES,
    st.tuples(
        st.binary(min_size=SIGNATURE_SIZE, max_size=SIGNATURE_SIZE),
        st.binary(min_size=20, max_size=20),
    ),
)


@settings(max_examples=100)
@given(_ROWS)
def test_files_in_columns_come_out_as_rows_in_order(
    rows: dict[bytes, tuple[bytes, bytes]],
) -> None:
    files = FileTable.of((name, *rest) for name, rest in rows.items())
    assert list(files) == sorted((name, *rest) for name, rest in rows.items())
    assert len(files) == len(rows)


@settings(max_examples=50)
@given(_ROWS, _ROWS)
def test_a_directory_survives_being_kept(
    held: dict[bytes, tuple[bytes, bytes]], saved: dict[bytes, tuple[bytes, bytes]]
) -> None:
    directory = Directory(b"a/b")
    directory.mode = 0o40750
    directory.listed = b"l" * 24
    directory.files = FileTable.of((name, *rest) for name, rest in held.items())
    directory.saved = FileTable.of((name, *rest) for name, rest in saved.items())
    directory.subs = {b"sub": (0o40755, b"t" * 20)}
    directory.gaps = {b"gap": "ignored"}
    directory.tracked = (b"tracked",)
    directory.racy = {b"racy": (0o100644, 7)}
    directory.flags = 1
    directory.tree = b"r" * 20
    row = marshal.loads(marshal.dumps(directory.dump()))
    assert Directory.load(row).dump() == directory.dump()


def test_any_change_of_a_file_changes_its_signature(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("1")
    seen = [signature(path.lstat())]
    path.write_text("22")
    seen.append(signature(path.lstat()))
    os.utime(path, ns=(0, 1))
    seen.append(signature(path.lstat()))
    path.chmod(0o600)
    seen.append(signature(path.lstat()))
    (tmp_path / "g").write_text("33")
    os.utime(tmp_path / "g", ns=(0, 1))
    (tmp_path / "g").chmod(0o600)
    (tmp_path / "g").rename(path)
    seen.append(signature(path.lstat()))
    assert len(set(seen)) == len(seen)
    assert NEVER_TRUSTED not in seen


def test_a_new_entry_changes_the_signature_of_a_directory(tmp_path: Path) -> None:
    os.utime(tmp_path, ns=(0, 1))
    before = directory_signature(tmp_path.stat())
    assert directory_signature(tmp_path.stat()) == before
    (tmp_path / "new").touch()
    assert directory_signature(tmp_path.stat()) != before


def test_mode_and_size_of_a_file_are_known_also_when_its_times_are_not_believed(
    tmp_path: Path,
) -> None:
    (tmp_path / "f").write_text("four")
    (tmp_path / "f").chmod(0o640)
    directory = Directory(b"")
    directory.racy = {b"r": (0o100600, 9)}
    assert directory.file_mode(b"f", signature((tmp_path / "f").stat())) == (0o100640, 4)
    assert directory.file_mode(b"r", NEVER_TRUSTED) == (0o100600, 9)


# -- any stat value

YEAR_2300 = 10_413_792_000 * 10**9
ODD_TIMES = [-1, -(2**63), -(2**63) - 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, YEAR_2300]
ODD_INODES = [0, 2**63 - 1, 2**63, 9_223_372_036_861_021_538, 2**64 - 1]


def status_of(*, mtime: int = 5, ctime: int = 5, inode: int = 7) -> os.stat_result:
    """A status as the system gives it: ten numbers, three float times, three in nanoseconds."""
    ten = (0o100644, inode, 1, 1, 0, 0, 3, 0, mtime // 10**9, ctime // 10**9)
    return os.stat_result((*ten, 0.0, mtime / 1e9, ctime / 1e9, 0, mtime, ctime))


@pytest.mark.parametrize("time", ODD_TIMES)
def test_a_time_that_does_not_fit_has_a_signature_that_is_never_believed(time: int) -> None:
    belief = Belief(ScanTime(10**18, distrusted=False))
    for status in (status_of(mtime=time), status_of(ctime=time)):
        mark = signature(status)
        assert mark == signature(status)
        assert mark != signature(status_of())
        assert len(mark) == SIGNATURE_SIZE
        fits = -(2**63) <= time < 2**63
        assert (belief.of(mark) != NEVER_TRUSTED) == (fits and time < 10**18)
        assert directory_signature(status) != directory_signature(status_of())


def test_every_inode_number_has_a_signature_of_its_own() -> None:
    assert len({signature(status_of(inode=number)) for number in ODD_INODES}) == len(ODD_INODES)
    assert len({directory_signature(status_of(inode=n)) for n in ODD_INODES}) == len(ODD_INODES)


def test_a_doubted_signature_matches_no_file_and_still_tells_what_it_was() -> None:
    mark = signature(status_of())
    assert doubted(mark) != mark
    assert undoubted(doubted(mark)) == undoubted(mark) == mark
    directory = Directory(b"")
    assert directory.file_mode(b"f", doubted(mark)) == directory.file_mode(b"f", mark)
