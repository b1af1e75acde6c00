"""Deltas: how a repacked object is written as copies from another plus new bytes."""

from __future__ import annotations

from takeback import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator


def read_number(data: bytes, position: int) -> tuple[int, int]:
    """Returns a little-endian base-128 number and the position after it."""
    number = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, position
    raise errors.StoreDamaged("it holds a garbled number")


def check_size(size: int, most: int | None) -> None:
    """Raises StoreDamaged if an object claims to be longer than allowed."""
    if most is not None and size > most:
        raise errors.StoreDamaged(f"it says that it has {size} bytes, more than {most}")


def apply_delta(base: bytes, delta: bytes, most: int) -> bytes:
    """Returns what ``delta`` makes of ``base``; raises StoreDamaged if they do not fit."""
    return b"".join(delta_pieces(base, delta, most))


def size_made(delta: bytes) -> int:
    """Returns how many bytes a delta says that it makes."""
    return read_number(delta, read_number(delta, 0)[1])[0]


def delta_pieces(base: bytes, delta: bytes, most: int) -> Generator[bytes, None, None]:
    """Yields what ``delta`` makes of ``base``; raises StoreDamaged if they do not fit.

    A few instructions can copy the base again and again: the result is limited to ``most`` bytes.
    """
    base_size, position = read_number(delta, 0)
    size, position = read_number(delta, position)
    if base_size != len(base):
        raise errors.StoreDamaged("it holds a delta that does not fit its base")
    check_size(size, most)
    made = 0
    end = len(delta)
    while position < end and made <= size:
        order = delta[position]
        position += 1
        if order & 0x80:
            offset = length = 0
            for bit in range(7):
                if order & (1 << bit):
                    if position >= end:
                        raise errors.StoreDamaged("it holds a delta that is cut short")
                    if bit < 4:
                        offset |= delta[position] << (8 * bit)
                    else:
                        length |= delta[position] << (8 * (bit - 4))
                    position += 1
            piece = base[offset : offset + (length or 0x10000)]
            if len(piece) != (length or 0x10000):
                raise errors.StoreDamaged("it holds a delta that copies from beyond its base")
        else:
            piece = delta[position : position + order]
            if not order or len(piece) != order:
                raise errors.StoreDamaged("it holds a delta that is cut short")
            position += order
        made += len(piece)
        yield piece
    if made != size:
        raise errors.StoreDamaged("it holds a delta that makes another size than it says")
