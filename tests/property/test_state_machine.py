"""Random edits, captures, rewinds, undos, redos, prunes: the tree is always the one recorded.

Every edit is made with plain system calls, every tree is recorded by tests/support/trees.py,
and what must come back is worked out by oracle.py. takeback is only asked to do its work.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import seed, settings
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from takeback import Takeback
from takeback.model.coverage import Overrides
from takeback.model.operation import Outcome
from takeback.paths import config_file
from tests.property.oracle import (
    IGNORE_RULES,
    SIZE_LIMIT,
    Point,
    Recording,
    Task,
    ancestors,
    bare,
    expected,
    is_below,
    plain,
    record,
)
from tests.property.upkeep import SETTINGS, Upkeep
from tests.support.lanes import shares
from tests.support.removal import remove_tree
from tests.support.trees import Entry, differences, git_state, tree_state

T = TypeVar("T")
ROOT_USER = os.geteuid() == 0
OLD_TIME = 1_500_000_000_123_456_789
SHARES = 60
MOST_ENTRIES = 24
DEEPEST = 3

NAMES = (
    b"a",
    b"b",
    b"d",
    b"igndir",
    b"x.ign",
    b"d.x",  # sorts between d and d/...
    b"d-",
    b"igndir",
    b"x.ign",
    b"keep.ign",
    b"\xff\xfe",
    b"new\nline",
    b"-dash",
    b":(top)x",
    b".GIT",
    b" ",
)
CONTENTS = (
    b"",
    b"",
    b"same",
    b"same",
    b"same\n",
    b"Same",
    b"0",
    b"1",
    b"\0\xff\r\n",
    b"long" * 40,  # above the size limit
)

pick = st.integers(0, 1 << 16)
names = st.sampled_from(NAMES)
ignored_names = st.sampled_from((b"igndir", b"x.ign", b"a"))
contents = st.sampled_from(CONTENTS)
rules = st.lists(st.sampled_from(IGNORE_RULES), max_size=3)
file_modes = st.sampled_from((0o600, 0o644, 0o600, 0o755)) | st.integers(0o400, 0o777)
# Without owner rwx only root can go on: what others then meet is tests/worktree's business.
directory_modes = st.sampled_from((0o755, 0o700, 0o750, 0o711, 0o777)) | st.integers(
    0o700, 0o777
).map(lambda mode: mode & 0o577 if ROOT_USER and mode % 8 == 5 else mode)
special_modes = st.builds(
    int.__or__, st.sampled_from((0, 0, 0o2000, 0o1000, 0o3000)), directory_modes
)


def _edit(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Edit]:
    return st.tuples(st.just(name), *arguments)


# A tuple is the name of a method of Workspace and its arguments.
Edit = tuple[Any, ...]
edits = st.lists(
    st.one_of(
        _edit("write", pick, names, contents, st.booleans(), st.none() | file_modes),
        _edit("append", pick, contents),
        _edit("edit_and_set_time_back", pick),
        _edit("set_time_back", pick),
        _edit("remove", pick),
        _edit("rename", pick, pick, names),
        _edit("chmod_file", pick, file_modes),
        _edit("chmod_directory", pick, special_modes),
        _edit("chmod_root", special_modes),
        _edit("symlink", pick, names, st.sampled_from(("nowhere", "outside", ".", "self", "a"))),
        _edit("hard_link", pick, pick, names),
        _edit("mkdir", pick, names, directory_modes),
        _edit("remove_directory", pick),
        _edit("fifo", pick, names),
        _edit("ignore", pick, rules),
        _edit("ignore", st.just(0), rules),
        _edit("write", pick, ignored_names, contents, st.booleans(), st.none()),
        _edit("mkdir", pick, ignored_names, directory_modes),
        _edit("nested_repository", pick),
        _edit("track", pick),
        _edit("flip_type", pick, contents, names),
    ),
    max_size=4,
)
"""What somebody does to the files before the next command; often nothing at all."""


class Place(NamedTuple):
    """What an operation led from and to, and the paths it was limited to: undo goes back."""

    before: Recording
    after: Recording
    paths: tuple[bytes, ...]

    @property
    def task(self) -> Task:
        """What an undo has to bring back: every path that is not the same, in scope or not."""
        before, after = self.before.state, self.after.state
        changed = {path for path in before if _bare(self.after, path) != bare(before[path])}
        made = {path: entry for path, entry in after.items() if path not in before}
        return Task(self.paths, True, frozenset(changed), made)

    @property
    def is_idle(self) -> bool:
        """Tells whether the operation changed nothing: then going back over it changes nothing."""
        task = self.task
        same_root = self.before.root_mode == self.after.root_mode
        return same_root and not task.changed and not task.made


class Workspace(Upkeep):
    """One workspace and its store, from empty to the end of an example."""

    repository = False

    def __init__(self) -> None:
        super().__init__()
        self.base = tempfile.mkdtemp(prefix="takeback-state-")
        self.root = os.fsencode(os.path.join(self.base, "workspace"))
        self.outside = os.path.join(self.base, "outside")
        os.mkdir(self.root)
        os.mkdir(self.outside)
        Path(self.outside, "precious").write_bytes(b"not ours")
        self.outside_state = tree_state(Path(self.outside), identity=True)
        self.environ = {
            "HOME": os.path.join(self.base, "home"),
            "TAKEBACK_HOME": os.path.join(self.base, "takeback"),
            "PATH": os.environ["PATH"],
        }
        self.configure()
        if self.repository:
            make_repository(self.root)
        self.takeback = self.opened()
        self.points: list[Point] = []
        self.snapshots: dict[str, dict[bytes, Entry]] = {}
        self.undoable: list[Place] = []
        self.redoable: list[Place] = []
        self.tracked: set[bytes] = set()
        self.held: frozenset[tuple[bytes, bool]] = frozenset()
        """What the newest snapshot held, each path with whether it is a directory."""

    def configure(self) -> None:
        """Lowers the size limit, so that a small file is too large, and what is kept."""
        settings = config_file(self.environ)
        os.makedirs(os.path.dirname(settings))
        Path(settings).write_text(f"size_limit_mb = {SIZE_LIMIT / (1 << 20)!r}\n{SETTINGS}")

    def teardown(self) -> None:
        try:
            assert self.takeback.verify(read_data=True).problems == ()
            assert not self.takeback.interrupted
            assert tree_state(Path(self.outside), identity=True) == self.outside_state
        finally:
            self.takeback.close()
            remove_tree(self.base)

    # -- edits

    @initialize(edits=edits, rules=rules)
    def begin(self, edits: list[Edit], rules: list[bytes]) -> None:
        """Starts with something to change, and a place to go back to."""
        self.replace(b"a", b"same")
        for directory in (b"d", b"igndir"):
            os.mkdir(self.full(directory), 0o755)
            self.replace(directory + b"/b", b"")
        self.ignore(0, rules)
        self.checkpoint(edits)

    def edit(self, edits: list[Edit]) -> None:
        for edit, *arguments in edits:
            getattr(self, edit)(*arguments)

    def write(
        self, where: int, name: bytes, content: bytes, in_place: bool, mode: int | None
    ) -> None:
        path = self.child(where, name)
        kind = self.kind(path)
        if in_place and kind == "file":
            with open(self.full(path), "r+b") as file:
                file.truncate()
                file.write(content)
        elif kind != "directory":
            self.replace(path, content)
            if mode is not None:
                os.chmod(self.full(path), mode)

    def append(self, which: int, content: bytes) -> None:
        if path := self.existing(which, "file"):
            with open(self.full(path), "ab") as file:
                file.write(content)

    def edit_and_set_time_back(self, which: int) -> None:
        """Same size, and the time that the file had before: only the content tells."""
        if path := self.existing(which, "file"):
            full = self.full(path)
            with open(full, "r+b") as file:
                first = file.read(1)
                file.seek(0)
                file.write(bytes(byte ^ 1 for byte in first))
            os.utime(full, ns=(OLD_TIME, OLD_TIME))

    def set_time_back(self, which: int) -> None:
        if path := self.existing(which, "file"):
            os.utime(self.full(path), ns=(OLD_TIME, OLD_TIME))

    def remove(self, which: int) -> None:
        if path := self.existing(which, "file", "link", "fifo"):
            os.unlink(self.full(path))

    def rename(self, which: int, where: int, name: bytes) -> None:
        """Moves a file or a directory with all in it, over a file if one is there."""
        old, new = self.existing(which), self.child(where, name)
        if old is None or new == old or is_below(new, old) or is_below(old, new):
            return
        if self.kind(new) == "directory" or (
            self.kind(new) is not None and self.kind(old) == "directory"
        ):
            return
        os.rename(self.full(old), self.full(new))

    def chmod_file(self, which: int, mode: int) -> None:
        if path := self.existing(which, "file"):
            os.chmod(self.full(path), mode)

    def chmod_directory(self, which: int, mode: int) -> None:
        if path := self.existing(which, "directory"):
            os.chmod(self.full(path), mode)

    def chmod_root(self, mode: int) -> None:
        os.chmod(self.root, mode)

    def symlink(self, where: int, name: bytes, to: str) -> None:
        path = self.child(where, name)
        if self.kind(path) != "directory":
            self.clear(path)
            target = {"outside": os.fsencode(self.outside), "self": name}.get(to, to.encode())
            os.symlink(target, self.full(path))

    def hard_link(self, which: int, where: int, name: bytes) -> None:
        old, new = self.existing(which, "file"), self.child(where, name)
        if old is not None and self.kind(new) is None:
            os.link(self.full(old), self.full(new))

    def mkdir(self, where: int, name: bytes, mode: int) -> None:
        path = self.child(where, name)
        if self.kind(path) is None:
            os.mkdir(self.full(path))
            os.chmod(self.full(path), mode)

    def remove_directory(self, which: int) -> None:
        if path := self.existing(which, "directory"):
            self.clear(path)

    def fifo(self, where: int, name: bytes) -> None:
        path = self.child(where, name)
        if self.kind(path) is None:
            os.mkfifo(self.full(path))

    def ignore(self, where: int, rules: list[bytes]) -> None:
        path = self.child(where, b".gitignore")
        if self.kind(path) in (None, "file"):
            self.replace(path, b"".join(pattern + b"\n" for pattern in rules))

    def nested_repository(self, which: int) -> None:
        path = self.existing(which, "directory")
        if path is not None and not os.path.lexists(self.full(path) + b"/.git"):
            make_repository(self.full(path))

    def track(self, which: int) -> None:
        """Adds a file to the project's index, an ignored one if there is any."""
        if not self.repository:
            return
        now = self.record()
        files = sorted(path for path, entry in now.state.items() if entry.kind != "directory")
        found = [path for path in files if path in now.ignored] or files
        if not found:
            return
        path = found[which % len(found)]
        git = ("git", "--literal-pathspecs")
        # It fails on a FIFO and in a nested repository, and that is fine.
        subprocess.run(
            [*git, "add", "-f", "--", path], cwd=self.root, capture_output=True, check=False
        )
        listed = subprocess.run(
            [*git, "ls-files", "-s", "-z"], cwd=self.root, capture_output=True, check=True
        )
        entries = (entry.partition(b"\t") for entry in listed.stdout.split(b"\0") if entry)
        self.tracked = {name for mode, _, name in entries if not mode.startswith(b"160000")}

    def flip_type(self, which: int, content: bytes, name: bytes) -> None:
        """Makes a directory of a file or link, and a file of a directory."""
        path = self.existing(which, "file", "link", "directory")
        if path is None or path.endswith(b".gitignore"):
            return
        directory = self.kind(path) == "directory"
        self.clear(path)
        if directory:
            self.replace(path, content)
        else:
            os.mkdir(self.full(path))
            self.replace(path + b"/" + name, content)

    # -- what is tested

    @rule()
    def restart(self) -> None:
        self.takeback.close()
        self.takeback = self.opened()

    def opened(self) -> Takeback:
        return Takeback.open(os.fsdecode(self.root), environ=self.environ, clock=self.clock)

    @rule(edits=edits)
    def checkpoint(self, edits: list[Edit]) -> None:
        self.edit(edits)
        before, made, after = self.around(lambda: self.takeback.checkpoint())
        assert differences(before.state, after.state) == [], "a capture touched the files"
        skipped = {path for path in before.not_held() if before.is_oversized(path)}
        assert {item.path for item in made.skipped} == skipped
        assert made.checkpoint.complete == (not skipped)
        self.points.append(Point(made.checkpoint.id, before))
        self.compare_with_equal_snapshots(made.checkpoint.snapshot, before)

    @rule(edits=edits, which=pick)
    def rewind(self, edits: list[Edit], which: int) -> None:
        self.edit(edits)
        self.go_to(self.points[which % len(self.points)])

    @rule(edits=edits, which=pick, picks=st.lists(pick, min_size=1, max_size=2))
    def rewind_some_paths(self, edits: list[Edit], which: int, picks: list[int]) -> None:
        self.edit(edits)
        point = self.plain_point(which)
        self.go_to(point, self.some_paths(point, picks))

    @precondition(lambda self: self.undoable)
    @rule(edits=edits)
    def undo(self, edits: list[Edit]) -> None:
        self.edit(edits)
        self.step(self.takeback.undo, self.undoable, self.redoable)

    @precondition(lambda self: self.redoable)
    @rule(edits=edits)
    def redo(self, edits: list[Edit]) -> None:
        self.edit(edits)
        self.step(self.takeback.redo, self.redoable, self.undoable)

    @rule(edits=edits, which=pick)
    def rewind_and_undo(self, edits: list[Edit], which: int) -> None:
        self.edit(edits)
        self.there_and_back(self.points[which % len(self.points)])

    @rule(edits=edits, which=pick, picks=st.lists(pick, min_size=1, max_size=3))
    def rewind_some_paths_and_undo(self, edits: list[Edit], which: int, picks: list[int]) -> None:
        self.edit(edits)
        point = self.plain_point(which)
        self.there_and_back(point, self.some_paths(point, picks))

    def there_and_back(self, point: Point, paths: tuple[bytes, ...] = ()) -> None:
        """Nothing comes in between: every single path is as it was, and as it was there again."""
        before = self.record()
        if not self.go_to(point, paths):
            return
        there = self.record()
        for _ in range(2):
            self.step(self.takeback.undo, self.undoable, self.redoable)
            assert_same_but_for_new_directories(before, self.record(), between=there)
            self.step(self.takeback.redo, self.redoable, self.undoable)
            assert_same_but_for_new_directories(there, self.record(), between=before)
        self.step(self.takeback.undo, self.undoable, self.redoable)
        assert_same_but_for_new_directories(before, self.record(), between=there)

    def plain_point(self, which: int) -> Point:
        points = self.plain_points()
        return points[which % len(points)]

    def some_paths(self, point: Point, picks: list[int]) -> tuple[bytes, ...]:
        """Returns paths that are there now or were then; what is deep is as likely as the rest."""
        known = sorted(point.recording.state.keys() | self.record().state.keys())
        return tuple(dict.fromkeys(known[number % len(known)] for number in picks))

    def go_to(self, point: Point, paths: tuple[bytes, ...] = ()) -> bool:
        """Rewinds; returns whether there was anything to do."""
        before, outcome, after = self.around(
            lambda: self.takeback.rewind(
                point.id, [self.full(path) for path in paths], overrides=Overrides.all()
            ),
            lambda done: self.brought(point.recording, paths) if done.operation else None,
        )
        self.check(point.recording, before, after, outcome, Task(paths), is_undo=point.is_undo)
        if outcome.operation is None:
            assert differences(before.state, after.state) == []
            return False
        self.undoable.append(Place(before, after, paths))
        self.redoable.clear()
        self.keep_undo_snapshot(outcome, before)
        return True

    def step(self, action: Callable[..., Outcome], taken: list[Place], other: list[Place]) -> None:
        place = taken.pop()
        before, outcome, after = self.around(
            lambda: action(overrides=Overrides.all()),
            lambda _: None if place.is_idle else self.brought(place.before, place.paths),
        )
        if place.is_idle:
            assert differences(before.state, after.state) == []
            assert (outcome.written, outcome.deleted) == ((), ())
        else:
            self.check(place.before, before, after, outcome, place.task)
        other.append(Place(before, after, place.paths))
        self.keep_undo_snapshot(outcome, before)

    # -- how it is checked

    def around(
        self,
        action: Callable[[], T],
        brought: Callable[[T], frozenset[tuple[bytes, bool]] | None] = lambda _: None,
    ) -> tuple[Recording, T, Recording]:
        """Runs one operation and returns the tree before and after it; no .git is touched.

        ``brought`` is what its target held: of that, what is there now is held from now on.
        """
        before = self.record()
        repositories = self.git_states(before)
        answer = action()
        self.held = before.lasting() | (brought(answer) or frozenset())
        after = self.record()
        self.held = after.lasting()
        assert self.git_states(before) == repositories, "a .git was touched"
        assert tree_state(Path(self.outside), identity=True) == self.outside_state
        return before, answer, after

    def brought(self, target: Recording, paths: tuple[bytes, ...]) -> frozenset[tuple[bytes, bool]]:
        scope = Task(paths)
        return frozenset(item for item in target.lasting() if scope.holds(item[0]))

    def git_states(self, recording: Recording) -> dict[bytes, dict[bytes, Entry]]:
        return {path: git_state(self.full(path), identity=True) for path in recording.repositories}

    def check(
        self,
        target: Recording,
        before: Recording,
        after: Recording,
        outcome: Outcome,
        task: Task,
        *,
        is_undo: bool = False,
    ) -> None:
        wanted = expected(target, before, task)
        assert_same(wanted.state, bare_state(after))
        assert after.root_mode == wanted.root_mode
        assert_untouched(before, after)
        left = {item.path for item in outcome.left_alone}
        for path in wanted.unfinished:
            assert left & {path, *ancestors(path)}, f"{path!r} is not as asked for and not named"
        for path in before.state.keys() | target.state.keys():
            meant = target.held(path) or (
                path in before.state and before.held(path) and path in after.state
            )
            if task.holds(path) and meant and _plain(after, path) != _plain(target, path):
                assert left & {path, *ancestors(path)}, f"{path!r} is left and not named"
        if not is_undo:  # what is in an undo snapshot besides is not known here
            assert outcome.verified == (not wanted.unfinished), (wanted.unfinished, outcome)
        assert outcome.whole == outcome.verified

    def compare_with_equal_snapshots(self, snapshot: str, recording: Recording) -> None:
        """Same content, same id; other content, another id."""
        content = recording.content()
        assert self.snapshots.setdefault(snapshot, content) == content, "a stale snapshot"
        assert [id for id, other in self.snapshots.items() if other == content] == [snapshot]

    def keep_undo_snapshot(self, outcome: Outcome, before: Recording) -> None:
        """An undo snapshot is a place to go back to as any other."""
        assert outcome.undo is not None
        self.points.append(Point(outcome.undo, before, is_undo=True))
        self.compare_with_equal_snapshots(self.takeback.find(outcome.undo).snapshot, before)

    # -- the tree

    def record(self) -> Recording:
        return record(self.root, self.tracked, self.held)

    def full(self, path: bytes) -> bytes:
        return os.path.join(self.root, path)

    def kind(self, path: bytes) -> str | None:
        try:
            return _KINDS.get(os.lstat(self.full(path)).st_mode & 0o170000, "special")
        except FileNotFoundError:
            return None

    def listing(self) -> list[bytes]:
        found = []
        for place, directories, files in os.walk(self.root):
            directories[:] = (name for name in directories if name != b".git")
            inside = place[len(self.root) + 1 :]
            found += [os.path.join(inside, name) for name in (*directories, *files)]
        return sorted(found)

    def existing(self, which: int, *kinds: str) -> bytes | None:
        found = [path for path in self.listing() if not kinds or self.kind(path) in kinds]
        return found[which % len(found)] if found else None

    def child(self, where: int, name: bytes) -> bytes:
        """Returns a path in one of the directories; a full tree only gets what it has already."""
        listing = self.listing()
        parents = [b""] + [
            path
            for path in listing
            if path.count(b"/") < DEEPEST - 1 and self.kind(path) == "directory"
        ]
        path = os.path.join(parents[where % len(parents)], name)
        if len(listing) >= MOST_ENTRIES and path not in listing:
            return listing[where % len(listing)]
        return path

    def replace(self, path: bytes, content: bytes) -> None:
        self.clear(path)
        with open(self.full(path), "xb") as file:
            file.write(content)

    def clear(self, path: bytes) -> None:
        kind = self.kind(path)
        if kind == "directory":
            shutil.rmtree(self.full(path))
        elif kind is not None:
            os.unlink(self.full(path))


class WorkspaceWithGit(Workspace):
    repository = True


_KINDS = {0o100000: "file", 0o040000: "directory", 0o120000: "link", 0o010000: "fifo"}


def make_repository(path: bytes) -> None:
    """Makes the least that git itself takes for a repository."""
    for directory in (b".git", b".git/objects", b".git/refs"):
        os.mkdir(os.path.join(path, directory))
    with open(path + b"/.git/HEAD", "xb") as file:
        file.write(b"ref: refs/heads/main\n")


def assert_untouched(before: Recording, after: Recording) -> None:
    """What is the same as before is the same file, not an equal one."""
    for path, entry in before.state.items():
        if _bare(after, path) == bare(entry):
            assert after.state[path] == entry, f"{path!r} was touched"


def assert_same_but_for_new_directories(
    wanted: Recording, found: Recording, *, between: Recording
) -> None:
    """A directory that was removed and made again lacks what is never brought back: setgid..."""
    again = {path for path in wanted.state if _kind(between, path) != _kind(wanted, path)}
    states = [
        {
            path: plain(entry) if path in again else bare(entry)
            for path, entry in recording.state.items()
        }
        for recording in (wanted, found)
    ]
    assert_same(*states)
    assert wanted.root_mode == found.root_mode


def assert_same(wanted: dict[bytes, Entry], found: dict[bytes, Entry]) -> None:
    assert not differences(wanted, found), "\n".join(
        ["expected -> found", *differences(wanted, found)]
    )


def bare_state(recording: Recording) -> dict[bytes, Entry]:
    return {path: bare(entry) for path, entry in recording.state.items()}


def _kind(recording: Recording, path: bytes) -> str | None:
    entry = recording.state.get(path)
    return None if entry is None else entry.kind


def _plain(recording: Recording, path: bytes) -> Entry | None:
    entry = recording.state.get(path)
    return None if entry is None else plain(entry)


def _bare(recording: Recording, path: bytes) -> Entry | None:
    entry = recording.state.get(path)
    return None if entry is None else bare(entry)


@shares(SHARES)
@pytest.mark.parametrize("machine", [Workspace, WorkspaceWithGit])
def test_every_tree_comes_back(machine: type[Workspace], share: int, soak: bool) -> None:
    """Each share is a sample of its own: the same each time here, another each time in a soak."""
    if not soak:
        machine = seed(share)(type(machine.__name__, (machine,), {}))
    examples = settings().max_examples // 75  # more than 400 in all shares of both
    limits = settings(stateful_step_count=20, max_examples=examples)
    run_state_machine_as_test(machine, settings=limits)
