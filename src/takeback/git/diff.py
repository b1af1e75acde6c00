"""Differences between two snapshots: counted, in full, or as hunks, by git's own diff."""

from __future__ import annotations

import os

from takeback import errors
from takeback.errors import GitFailed
from takeback.model.lines import LineHunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.git.objects import ObjectId
    from takeback.git.process import Git

    Lines = dict[bytes, tuple[int, int]]
    Hunks = tuple[LineHunk, ...]

# -- differences between two snapshots, counted or in full, by git's own diff
#
# git reads our modes as 644 or 755 and knows no empty directories: the caller finds out those
# changes itself, by comparing the trees.


LARGEST_COUNTED = 1 << 20
"""Up to this size, in bytes, the lines of a file are counted; a larger one counts as binary.

git needs 2 s for a file of this size whose short lines are all in another order, half a minute for
5 MB, two minutes for 40.
"""
LARGEST_SHOWN = 16 << 20
"""Up to this size, in bytes, the lines of a file are shown; of a larger one only that it differs.

git needs nine times the size of a file in memory: 2.7 GB for two files of 300 MB.
"""
BINARY = (-1, -1)
"""What ``numstat`` gives for a file that has no lines."""

_PLAIN = ("-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
_ARGUMENTS = 1 << 16  # bytes of paths in one call; the kernel allows 128 KB and more


def numstat(
    git: Git, pairs: Sequence[tuple[ObjectId, ObjectId]], *, timeout: float = 60.0
) -> list[Lines | None]:
    """Returns for pairs of trees: path -> (lines added, lines deleted), ``BINARY`` for binary.

    One process answers for all pairs, in their order. None stands for a pair that git cannot read.
    The answer is shorter than ``pairs`` if git ended, or ran out of time, at the first pair that is
    not in it: the answers before that are valid.
    """
    if not pairs:
        return []
    answers = _Answers(pairs)
    # An empty line is not a pair: git echoes it and flushes its buffer, so that what it has counted
    # reaches us before it works on the next pair.
    asked = b"\n\n".join([*answers.heads, b""])
    args = ["diff-tree", "--stdin", "-z", "--numstat", *_PLAIN]
    process = git.spawn(args, config=(("core.bigFileThreshold", str(LARGEST_COUNTED)),))
    try:
        process.ask(asked, answers.whole, timeout=timeout)
    except (errors.GitFailed, errors.TimedOut):
        pass
    finally:
        process.close()
    return answers.found


class _Answers:
    """Reads git's answers, pair by pair, as they come.

    Per pair git prints "<id> <id>\\n", "added\\tdeleted\\tpath\\0" for each path, and echoes the
    empty line. A path's line begins with a digit or a dash: the three cannot be confused.
    """

    def __init__(self, pairs: Sequence[tuple[ObjectId, ObjectId]]) -> None:
        self.heads = [f"{old.hex()} {new.hex()}".encode() for old, new in pairs]
        self.found: list[Lines | None] = []
        self._lines: Lines | None = None
        self._read = 0

    def whole(self, said: bytearray) -> bool:
        """Takes in what has come so far; True once every pair has its answer."""
        while len(self.found) < len(self.heads):
            if said.startswith(b"\n", self._read):
                self.found.append(self._lines)
                self._lines = None
                self._read += 1
                continue
            end = said.find(b"\n" if self._lines is None else b"\0", self._read)
            if end < 0:
                return False
            self._take(bytes(said[self._read : end]))
            self._read = end + 1
        return True

    def _take(self, line: bytes) -> None:
        if self._lines is None:
            if line != self.heads[len(self.found)]:
                raise _unexpected(line)
            self._lines = {}
            return
        added, _, rest = line.partition(b"\t")
        deleted, _, path = rest.partition(b"\t")
        if added.isdigit() and deleted.isdigit():
            self._lines[path] = (int(added), int(deleted))
        elif added == deleted == b"-":
            self._lines[path] = BINARY
        else:
            raise _unexpected(line)


def _unexpected(line: bytes) -> errors.GitFailed:
    return errors.GitFailed(("diff-tree", "--numstat"), 0, f"it says {line[:100]!r}")


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
    config = (("core.bigFileThreshold", str(LARGEST_SHOWN)),)
    said = [git.run([*command, *group], config=config, timeout=timeout) for group in groups]
    return b"".join(said)


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


# -- hunks: which lines differ between two versions of files, by git's own diff, without the lines


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
