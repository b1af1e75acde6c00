"""Hunks: which lines differ between two versions of files, by git's own diff, without the lines."""

from __future__ import annotations

from takeback.errors import GitFailed
from takeback.git.diff import LARGEST_SHOWN, unified
from takeback.model.lines import LineHunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.git.objects import ObjectId
    from takeback.git.process import Git

    Hunks = tuple[LineHunk, ...]

_CONFIG = (("core.bigFileThreshold", str(LARGEST_SHOWN)),)
_RENAMED_FROM = 50
"""How much of a file, in percent, has to be the same for it to count as renamed: git's own."""
_MOST_RENAMES = 1000
"""With more files than this that came and went, only those renamed without a change are found."""


def hunks_of_files(
    git: Git, old: ObjectId, new: ObjectId, paths: Sequence[bytes], *, timeout: float = 60.0
) -> dict[bytes, Hunks | None]:
    """Returns the hunks of each file, all of which must differ between two trees; None if binary.

    A file that is too long to be shown counts as binary.
    """
    if not paths:
        return {}
    text = unified(git, old, new, paths=paths, context=0, timeout=timeout)
    found = list(_sections(text))
    if len(found) != len(set(paths)):
        raise GitFailed(("diff-tree",), 0, f"it told of {len(found)} of {len(set(paths))} files")
    return dict(zip(sorted(paths), found, strict=True))


def hunks_of_blobs(
    git: Git, old: ObjectId, new: ObjectId, *, timeout: float = 60.0
) -> Hunks | None:
    """Returns the hunks between two different blobs; None if one of them is binary."""
    args = ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv"]
    text = git.run([*args, old.hex(), new.hex(), "--"], config=_CONFIG, timeout=timeout)
    return next(_sections(text))


def _sections(text: bytes) -> Iterator[Hunks | None]:
    """Yields what a diff tells of each file, in its order: that of the names.

    A line of a file is shown behind one of ``+-\\ ``, so what begins otherwise is git's own.
    """
    hunks: list[LineHunk] | None = None
    binary = False
    for line in text.split(b"\n"):
        if line.startswith(b"diff --git "):
            if hunks is not None:
                yield None if binary else tuple(hunks)
            hunks, binary = [], False
        elif line.startswith(b"@@ ") and hunks is not None:
            hunks.append(_hunk(line))
        elif line.startswith(b"Binary files "):
            binary = True
    if hunks is not None:
        yield None if binary else tuple(hunks)


def _hunk(head: bytes) -> LineHunk:
    """Reads ``@@ -12,3 +14 @@``; where nothing is there, git names the line before."""
    _, old, new, _ = head.split(b" ", 3)
    (old_start, old_count), (new_start, new_count) = _range(old), _range(new)
    return LineHunk(old_start, old_count, new_start, new_count)


def _range(text: bytes) -> tuple[int, int]:
    start, _, count = text[1:].partition(b",")
    lines = int(count) if count else 1
    return (int(start) - 1 if lines else int(start)), lines


def renames(git: Git, old: ObjectId, new: ObjectId, *, timeout: float = 60.0) -> dict[bytes, bytes]:
    """Returns the files that have another name in the second tree: old name to new name."""
    said = git.run(
        [
            "diff-tree",
            "-r",
            "-z",
            f"--find-renames={_RENAMED_FROM}%",
            f"-l{_MOST_RENAMES}",
            "--diff-filter=R",
            "--name-status",
            "--no-ext-diff",
            old.hex(),
            new.hex(),
        ],
        config=_CONFIG,
        timeout=timeout,
    )
    words = said.split(b"\0")[:-1]
    if len(words) % 3:
        raise GitFailed(("diff-tree", "--find-renames"), 0, f"it says {said[:100]!r}")
    return dict(zip(words[1::3], words[2::3], strict=True))
