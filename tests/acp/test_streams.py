"""Bytes in lines, whatever they are and however they come."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from takeback.acp.streams import IncomingLines, OutgoingBytes


def read_in(pieces: list[bytes], most: int) -> list[tuple[bytes, bool]]:
    """Feeds a reader piece by piece, and returns what it hands out."""
    source, sink = os.pipe()
    reader = IncomingLines(source, most)
    found = []
    for piece in [*pieces, None]:
        if piece is None:
            os.close(sink)
        elif piece:
            os.write(sink, piece)
        else:
            continue
        reader.read()
        while (one := reader.next()) is not None:
            found.append((one.data, one.is_line))
    os.close(source)
    return found


@given(st.lists(st.binary(max_size=40)), st.integers(1, 30))
def test_nothing_is_lost_or_moved_however_it_comes(pieces: list[bytes], most: int) -> None:
    found = read_in(pieces, most)
    assert b"".join(data for data, _ in found) == b"".join(pieces)
    for data, is_line in found:
        assert data.count(b"\n") == (1 if is_line else data.endswith(b"\n"))


def test_a_long_line_comes_in_pieces_and_the_next_one_is_whole() -> None:
    found = read_in([b"abc", b"def", b"gh\nij\n"], 5)
    assert found == [(b"abcdef", False), (b"gh\n", False), (b"ij\n", True)]


def test_a_reader_knows_whether_it_is_amid_a_line() -> None:
    source, sink = os.pipe()
    reader = IncomingLines(source, 4)
    seen = []
    for piece in (b"ab", b"cdef", b"g\n"):
        os.write(sink, piece)
        reader.read()
        reader.next()
        seen.append(reader.is_between_lines)
    assert seen == [True, False, True]
    for fd in (source, sink):
        os.close(fd)


def test_who_has_gone_is_not_written_to() -> None:
    source, sink = os.pipe()
    writer = OutgoingBytes(sink, 512)
    writer.write(b"x" * 1000)
    writer.flush()
    assert os.read(source, 4096) == b"x" * 512
    os.close(source)
    writer.flush()
    assert (writer.is_open, writer.has_waiting) == (False, False)
    writer.write(b"more")
    assert not writer.has_waiting
    os.close(sink)
