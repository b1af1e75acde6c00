"""Differences between two snapshots, counted or in full, by git's own diff.

git reads our modes as 644 or 755 and knows no empty directories: what it cannot say about
those is said by the caller, who compares the trees.
"""

from __future__ import annotations

import os

from takeback import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.git.objects import ObjectId
    from takeback.git.process import Git

BINARY = (-1, -1)
"""What ``numstat`` gives for a file that has no lines."""

_PLAIN = ("-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
_ARGUMENTS = 1 << 16  # bytes of paths in one call; the kernel allows 128 KiB and more


def numstat(
    git: Git, pairs: Sequence[tuple[ObjectId, ObjectId]], *, timeout: float = 60.0
) -> list[dict[bytes, tuple[int, int]]]:
    """Returns for each pair of trees: path -> (lines added, lines deleted), ``BINARY`` for binary.

    One process answers for all pairs. Raises StoreDamaged or GitFailed for a tree that is not
    there.
    """
    if not pairs:
        return []
    # per pair git prints "<id> <id>\\n", then "added\\tdeleted\\tpath\\0" for each path
    heads = [f"{a.hex()} {b.hex()}\n".encode() for a, b in pairs]
    said = git.run(
        ["diff-tree", "--stdin", "-z", "--numstat", *_PLAIN],
        stdin=b"".join(heads),
        timeout=timeout,
    )
    counts = []
    position = 0
    for number, head in enumerate(heads):
        if not said.startswith(head, position):
            raise _unreadable(head)
        position += len(head)
        following = heads[number + 1] if number + 1 < len(heads) else None
        found: dict[bytes, tuple[int, int]] = {}
        while position < len(said):
            # a path's line has a tab where a head has hex digits: they cannot be confused
            if following is not None and said.startswith(following, position):
                break
            end = said.find(b"\0", position)
            fields = said[position:end].split(b"\t", 2)
            counted = _counts(fields) if end >= 0 else None
            if counted is None:
                raise _unreadable(following or head)
            found[fields[2]] = counted
            position = end + 1
        counts.append(found)
    return counts


def _counts(fields: Sequence[bytes]) -> tuple[int, int] | None:
    if len(fields) == 3:
        added, deleted, _ = fields
        if added.isdigit() and deleted.isdigit():
            return int(added), int(deleted)
        if added == deleted == b"-":
            return BINARY
    return None


def _unreadable(head: bytes) -> errors.StoreDamaged:
    # git says it by echoing its input, and ends with status 0
    return errors.StoreDamaged(f"git cannot compare the trees {head.decode().strip()}")


def unified(
    git: Git,
    a: ObjectId,
    b: ObjectId,
    *,
    paths: Sequence[bytes] = (),
    color: bool = False,
    context: int = 3,
    timeout: float = 60.0,
) -> bytes:
    """Returns the unified diff from tree ``a`` to tree ``b``.

    ``paths`` limits it to these files and directories, taken literally.
    """
    command = [
        "--literal-pathspecs",
        "diff-tree",
        "-p",
        f"--unified={context}",
        f"--color={'always' if color else 'never'}",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        *_PLAIN,
        a.hex(),
        b.hex(),
        "--",
    ]
    groups = list(_groups(paths)) if paths else [[]]
    return b"".join([git.run([*command, *group], timeout=timeout) for group in groups])


def _groups(paths: Sequence[bytes]) -> Iterator[list[str]]:
    """Yields the paths in groups that fit on a command line."""
    group: list[str] = []
    room = _ARGUMENTS
    for path in sorted(paths):
        room -= len(path) + 9
        if group and room < 0:
            yield group
            group, room = [], _ARGUMENTS
        group.append(os.fsdecode(path))
    yield group
