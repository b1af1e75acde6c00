"""Transcripts are read as they were at a moment, whatever the agent does meanwhile."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from takeback.model.checkpoint import TranscriptPart
from takeback.turns.said import (
    first_line,
    may_lie_at,
    parts_now,
    place_of,
    read_now,
    read_part,
    read_tail,
)


def read_beginning(part: TranscriptPart) -> bytes | None:
    found = read_part(part)
    return None if found is None else found[1]


def test_the_files_that_are_there_are_given_with_their_length(tmp_path: Path) -> None:
    old, missing, new = (str(tmp_path / name) for name in ("old", "missing", "new"))
    Path(old).write_bytes(b"12345")
    Path(new).write_bytes(b"")
    place = place_of(tmp_path.stat())
    found = (TranscriptPart(old, 5, place), TranscriptPart(new, 0, place))
    assert parts_now((old, missing, new)) == found
    assert parts_now(()) == ()


def test_what_was_appended_since_is_not_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"n": 1}\n')
    (part,) = parts_now((str(path),))
    with path.open("ab") as file:
        file.write(b'{"n": 2}\n' * 1000)
    assert read_beginning(part) == b'{"n": 1}\n'


def test_a_file_that_became_shorter_gives_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"0123456789")
    (part,) = parts_now((str(path),))
    path.write_bytes(b"0123")
    assert read_beginning(part) == b"0123"


def test_a_file_longer_than_one_read_comes_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    data = os.urandom((5 << 20) + 7)
    path.write_bytes(data)
    (part,) = parts_now((str(path),))
    assert read_beginning(part) == data


def test_a_file_that_is_gone_meanwhile_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x")
    (part,) = parts_now((str(path),))
    path.unlink()
    assert read_beginning(part) is None


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", "device", "fifo behind a link"])
def test_what_is_no_ordinary_file_is_neither_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.jsonl"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "fifo")
        path.symlink_to(tmp_path / "fifo")
    assert parts_now((str(path),)) == ()
    part = TranscriptPart(str(path), 10)
    assert read_beginning(part) is None
    assert read_now(part) is None
    assert read_tail(part, 10) is None
    assert first_line(str(path), 10) is None


def test_what_is_kept_says_how_long_it_is_and_where_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"01234")
    found = read_part(TranscriptPart(str(path), 10))
    where = place_of(tmp_path.stat()), place_of(path.stat())
    assert found == (TranscriptPart(str(path), 5, *where), b"01234")


@pytest.mark.parametrize("size", [0, 3, 70_000, 200_000])
def test_ends_are_read_without_the_rest(tmp_path: Path, size: int) -> None:
    path = tmp_path / "t.jsonl"
    line = bytes(size)
    path.write_bytes(line + b"\nmore\nlast")
    assert first_line(str(path), 1 << 20) == line
    assert first_line(str(path), 2) == line[:2]
    (part,) = parts_now((str(path),))
    assert read_tail(part, 4) == b"last"
    assert read_tail(part, 1 << 20) == read_now(part) == path.read_bytes()


def test_a_link_to_a_transcript_is_that_transcript(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"hello")
    (tmp_path / "link").symlink_to("real")
    (part,) = parts_now((str(tmp_path / "link"),))
    assert read_beginning(part) == b"hello"


@pytest.mark.parametrize("path", ["", "no\0name", "/" + "x" * 5000, "half \ud83d", "/proc/self/x"])
def test_a_name_that_can_be_no_file_is_none(path: str) -> None:
    assert parts_now((path,)) == ()
    assert read_beginning(TranscriptPart(path, 10)) is None


def test_a_transcript_too_long_to_be_kept_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate((1 << 29) + 1)
    (part,) = parts_now((str(path),))
    assert part.size == (1 << 29) + 1
    assert read_beginning(part) is None
    assert read_now(part) is None


def test_only_what_lies_beneath_a_root_is_read(tmp_path: Path) -> None:
    root, beside = tmp_path / "root", tmp_path / "root-2"
    for folder in (root / "deep", beside):
        folder.mkdir(parents=True)
        (folder / "t").write_bytes(b"said")
    (tmp_path / "to-root").symlink_to("root")
    (root / "link").symlink_to("deep/t")
    (root / "out").symlink_to("../root-2")
    (root / "deep" / ".env").write_bytes(b"secret")
    (root / "words").symlink_to("deep/.env")
    roots = (str(tmp_path / "to-root"), str(tmp_path / "none"), "relative")
    for name in ("root/deep/t", "to-root/deep/t", "root/deep/../link", "root/out/../root/deep/t"):
        (part,) = parts_now((str(tmp_path / name),), roots)
        assert read_beginning(part) == b"said", name
        assert may_lie_at(str(tmp_path / name), roots)
    for name in ("root-2/t", "root/out/t", "root/deep/.env", "root/words", "root"):
        assert parts_now((str(tmp_path / name),), roots) == (), name
        assert not may_lie_at(str(tmp_path / name), roots), name


def test_what_was_seen_is_read_in_that_very_directory(tmp_path: Path) -> None:
    for name in ("there", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t").write_bytes(name.encode())
    roots = (str(tmp_path),)
    (part,) = parts_now((str(tmp_path / "there" / "t"),), roots)
    (tmp_path / "there").rename(tmp_path / "was")
    (tmp_path / "there").symlink_to("elsewhere")
    assert read_beginning(part) is None
    assert read_tail(part, 9) is None
    assert read_now(part) is None
    assert read_now(part, (str(tmp_path / "was"),)) is None
    assert read_now(part, roots) == b"elsewhere", "a directory that has moved is looked for again"
    (tmp_path / "there").unlink()
    (tmp_path / "was").rename(tmp_path / "there")
    assert read_beginning(part) == b"there"
    (tmp_path / "there" / "t").unlink()
    (tmp_path / "there" / "t").symlink_to("../elsewhere/t")
    assert read_beginning(part) is None
