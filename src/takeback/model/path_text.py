"""Paths are bytes inside and text outside; the one conversion between the two, in every locale."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class FromRoot(bytes):
    """A path from the root of the workspace, as plans and changes name it: meant literally.

    Other paths are typed by a person and are resolved; one below a directory that became a link
    would then mean another file.
    """


def is_inside_git(path: bytes) -> bool:
    """Tells whether a path is a ``.git`` or inside one: takeback never writes there."""
    return b".git" in path.split(b"/")


def to_text(path: bytes) -> str:
    """Returns a path as text; bytes that are not UTF-8 survive as lone surrogates."""
    return path.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Returns the bytes that ``to_text`` came from."""
    return text.encode("utf-8", "surrogateescape")


def covers(scope: tuple[bytes, ...], path: bytes) -> bool:
    """Tells whether ``path`` is one of ``scope`` or below one of them; an empty scope is all."""
    return not scope or any(
        path == inner or inner == b"" or path.startswith(inner + b"/") for inner in scope
    )


def parents(path: bytes) -> Iterator[bytes]:
    """Yields the directories above a path, nearest first."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path
