"""A round that relies on the watch has what a look at every file has, whatever happened."""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from takeback.capture.capture import capture
from takeback.capture.watching import heard, keep_watched
from takeback.context import Context
from takeback.model.coverage import Policy
from takeback.store import notes
from takeback.worktree import watch
from takeback.worktree.watch import ARMED, BUSY, IN_STEP, Note, Watches, WatchTable
from tests.support.churn import Churn
from tests.support.engine import captured, opened, settle
from tests.support.git import git
from tests.support.mounts import in_own_mounts
from tests.support.processes import reap
from tests.support.watched import Watched

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is inotify on Linux only"
)


@pytest.fixture
def root(workspace: Path) -> Path:
    for name in ("a", "b", "one/c", "one/deep/d", "two/c", "two/deep/e", "two/deep/er/f"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"1 {name}")
    (workspace / ".gitignore").write_text("build/\n")
    (workspace / "build").mkdir()
    (workspace / "build" / "made").write_text("made")
    settle()
    return workspace


@pytest.fixture
def watched(root: Path, context: Context) -> Iterator[Watched]:
    """A workspace with a watch that the next round relies on."""
    watched = Watched(context)
    watched.begin()
    yield watched
    watched.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


def test_a_round_that_changed_nothing_relies_on_it(watched: Watched) -> None:
    assert watched.round().watched
    assert watched.round().watched


def test_prompts_and_ends_look_at_everything(watched: Watched) -> None:
    assert not watched.full_look().watched
    assert watched.round().watched


def test_only_where_something_happened_is_looked_at(watched: Watched, root: Path) -> None:
    """What no event tells of is not seen by a round: that is what it saves."""
    before = watched.round()
    with silenced(watched):
        (root / "one" / "c").write_text("unheard")
    after = watched.look(relies=True)
    assert after.watched
    assert after.tree == before.tree


@contextmanager
def silenced(watched: Watched) -> Iterator[None]:
    """Takes out of the queue what happens meanwhile, as if the kernel had not told."""
    yield
    [(queue, _)] = watched.held
    with suppress(BlockingIOError):
        while True:
            os.read(queue, 1 << 16)


# -- what agents, editors and builds do; each is seen by the round after it

Change = Callable[[Path, Path], None]


def edited(root: Path, outside: Path) -> None:
    (root / "one" / "deep" / "d").write_text("other")


def edited_with_its_time_put_back(root: Path, outside: Path) -> None:
    path = root / "one" / "c"
    status = path.stat()
    path.write_bytes(b"x" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def made_executable(root: Path, outside: Path) -> None:
    (root / "one" / "c").chmod(0o755)


def directory_made_private(root: Path, outside: Path) -> None:
    (root / "one" / "deep").chmod(0o700)


def saved_by_renaming(root: Path, outside: Path) -> None:
    (root / "one" / ".c.tmp").write_text("renamed")
    (root / "one" / ".c.tmp").rename(root / "one" / "c")


def saved_by_renaming_from_outside(root: Path, outside: Path) -> None:
    (outside / "c").write_text("renamed")
    (outside / "c").rename(root / "one" / "c")


def removed(root: Path, outside: Path) -> None:
    (root / "two" / "deep" / "e").unlink()


def file_turned_into_a_link(root: Path, outside: Path) -> None:
    (root / "a").unlink()
    (root / "a").symlink_to("b")


def link_led_elsewhere(root: Path, outside: Path) -> None:
    (root / "link").symlink_to("a")
    (root / "link").unlink()
    (root / "link").symlink_to("b")


def truncated(root: Path, outside: Path) -> None:
    os.truncate(root / "two" / "c", 1)


def copied_by_the_kernel(root: Path, outside: Path) -> None:
    with (root / "a").open("rb") as source, (root / "one" / "c").open("wb") as target:
        os.copy_file_range(source.fileno(), target.fileno(), 3)


def lengthened(root: Path, outside: Path) -> None:
    with (root / "a").open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 100)


def many_new_nested_directories(root: Path, outside: Path) -> None:
    for number in range(200):
        place = root / "new" / str(number % 7) / str(number) / "deep"
        place.mkdir(parents=True)
        (place / "f").write_text(str(number))


def directory_renamed(root: Path, outside: Path) -> None:
    (root / "two" / "deep").rename(root / "two" / "shallow")


def parent_renamed_and_below_it_edited(root: Path, outside: Path) -> None:
    (root / "two").rename(root / "three")
    (root / "three" / "deep" / "er" / "f").write_text("edited")


def directory_moved_into_another_and_edited(root: Path, outside: Path) -> None:
    (root / "two" / "deep").rename(root / "one" / "inner")
    (root / "one" / "inner" / "er" / "g").write_text("new")


def two_directories_swapped(root: Path, outside: Path) -> None:
    (root / "one").rename(root / "aside")
    (root / "two").rename(root / "one")
    (root / "aside").rename(root / "two")


def two_directories_swapped_and_edited(root: Path, outside: Path) -> None:
    two_directories_swapped(root, outside)
    (root / "one" / "deep" / "er" / "f").write_text("edited after the swap")


def removed_and_made_again(root: Path, outside: Path) -> None:
    shutil.rmtree(root / "two")
    (root / "two" / "deep" / "er").mkdir(parents=True)
    (root / "two" / "deep" / "er" / "f").write_text("made again")


def moved_out_edited_and_back(root: Path, outside: Path) -> None:
    (root / "two").rename(outside / "two")
    (outside / "two" / "deep" / "e").write_text("edited outside")
    (outside / "two").rename(root / "two")


def moved_out_edited_and_back_by_another_name(root: Path, outside: Path) -> None:
    (root / "two").rename(outside / "two")
    (outside / "two" / "deep" / "e").write_text("edited outside")
    (outside / "two").rename(root / "back")


def moved_in(root: Path, outside: Path) -> None:
    (outside / "in" / "deep").mkdir(parents=True)
    (outside / "in" / "deep" / "f").write_text("from outside")
    (outside / "in").rename(root / "one" / "in")


def directory_turned_into_a_link_and_back(root: Path, outside: Path) -> None:
    (root / "one").rename(outside / "one")
    (root / "one").symlink_to(outside / "one")
    (outside / "one" / "c").write_text("through the link")
    (root / "one").unlink()
    (outside / "one").rename(root / "one")


def directory_turned_into_a_file(root: Path, outside: Path) -> None:
    shutil.rmtree(root / "one")
    (root / "one").write_text("a file now")


def rule_removed_and_edited_below(root: Path, outside: Path) -> None:
    (root / ".gitignore").write_text("")
    (root / "build" / "made").write_text("held now")


def rule_added(root: Path, outside: Path) -> None:
    (root / ".gitignore").write_text("build/\n*.log\n")
    (root / "one" / "x.log").write_text("ignored")
    (root / "one" / "deep" / "y.txt").write_text("held")


def rule_of_the_project_changed(root: Path, outside: Path) -> None:
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (root / "one" / "x.tmp").write_text("ignored")


def ignored_directory_in_use(root: Path, outside: Path) -> None:
    for number in range(50):
        (root / "build" / str(number)).write_text("made")


def tracked_file_in_an_ignored_directory(root: Path, outside: Path) -> None:
    git(root, "add", "--force", "build/made")
    (root / "build" / "made").write_text("tracked")


def small_ignored_file_edited(root: Path, outside: Path) -> None:
    (root / ".gitignore").write_text("build/\n.env\n")
    (root / ".env").write_text("KEY=1")


def many_new_files(root: Path, outside: Path) -> None:
    for number in range(1000):
        place = root / "many" / str(number % 100)
        place.mkdir(parents=True, exist_ok=True)
        (place / str(number)).write_text(str(number))


def names_that_are_not_text(root: Path, outside: Path) -> None:
    place = os.fsencode(root) + b"/\xff\n \\"
    os.mkdir(place)
    with open(place + b"/\xfe", "wb") as file:
        file.write(b"odd")


def odd_files(root: Path, outside: Path) -> None:
    os.mkfifo(root / "one" / "fifo")
    (root / "one" / "deep" / "d").write_text("beside a pipe")


def repository_nested(root: Path, outside: Path) -> None:
    git(root, "init", "--quiet", "two/nested")
    (root / "two" / "nested" / "f").write_text("in it")


CHANGES = [
    edited,
    edited_with_its_time_put_back,
    made_executable,
    directory_made_private,
    saved_by_renaming,
    saved_by_renaming_from_outside,
    removed,
    file_turned_into_a_link,
    link_led_elsewhere,
    truncated,
    copied_by_the_kernel,
    lengthened,
    many_new_nested_directories,
    directory_renamed,
    parent_renamed_and_below_it_edited,
    directory_moved_into_another_and_edited,
    two_directories_swapped,
    two_directories_swapped_and_edited,
    removed_and_made_again,
    moved_out_edited_and_back,
    moved_out_edited_and_back_by_another_name,
    moved_in,
    directory_turned_into_a_link_and_back,
    directory_turned_into_a_file,
    rule_removed_and_edited_below,
    rule_added,
    rule_of_the_project_changed,
    ignored_directory_in_use,
    tracked_file_in_an_ignored_directory,
    small_ignored_file_edited,
    many_new_files,
    names_that_are_not_text,
    odd_files,
    repository_nested,
]


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_seen_and_so_is_what_follows(
    watched: Watched, root: Path, outside: Path, change: Change
) -> None:
    change(root, outside)
    settle()
    watched.round()
    deepest = max(root.rglob("*/"), key=lambda path: (len(path.parts), path))
    for path in (root, deepest):
        if ".git" not in path.parts:
            (path / "afterwards").write_text("seen too")
            settle()
            assert watched.round().watched
    assert tally(watched).missed == 0
    watched.full_look()
    assert tally(watched).missed == 0


def tally(watched: Watched) -> notes.Tally:
    return notes.read_tally(watched.context.store)


def test_what_was_written_through_an_old_descriptor_is_seen(watched: Watched, root: Path) -> None:
    with (root / "one" / "c").open("ab", buffering=0) as file:
        assert watched.round().watched
        for number in range(3):
            file.write(b"%d" % number)
            assert watched.round().watched


def test_two_edits_within_one_tick_of_the_clock_are_two(watched: Watched, root: Path) -> None:
    for number in range(20):
        (root / "one" / "c").write_text(f"{number:03}")
        assert watched.round().watched


def test_files_with_several_links_are_always_looked_at(
    watched: Watched, root: Path, outside: Path
) -> None:
    os.link(root / "one" / "c", outside / "c")
    settle()
    watched.full_look()  # the link itself is no event in its directory
    for text in ("first", "second"):
        with (outside / "c").open("r+") as file:
            file.write(text)
        settle()
        assert watched.round().watched
    assert tally(watched).missed == 0


def test_a_link_to_a_file_of_another_directory_is_looked_at_as_well(
    watched: Watched, root: Path
) -> None:
    os.link(root / "one" / "c", root / "two" / "deep" / "same")
    settle()
    watched.full_look()
    (root / "one" / "c").write_text("by the one name")
    assert watched.round().watched


# -- what the kernel does not tell of: the next look at everything finds it, and counts it


def test_a_link_made_and_written_between_two_looks_is_counted(
    watched: Watched, root: Path, outside: Path
) -> None:
    os.link(root / "one" / "c", outside / "c")
    with (outside / "c").open("r+") as file:
        file.write("unheard of")
    settle()
    assert watched.look(relies=True).watched
    found = watched.full_look()
    assert not found.watched
    assert found.tree == watched.round().tree
    assert (tally(watched).missed, tally(watched).last) == (1, b"one")


def test_a_link_that_changes_no_file_is_no_miss(
    watched: Watched, root: Path, outside: Path
) -> None:
    os.link(root / "one" / "c", outside / "c")
    settle()
    assert watched.look(relies=True).watched
    watched.full_look()
    assert (tally(watched).looks, tally(watched).rounds, tally(watched).missed) == (1, 1, 0)


def test_a_store_through_a_mapping_is_seen_when_that_ends(watched: Watched, root: Path) -> None:
    path = root / "two" / "c"
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"M"
        watched.look(relies=True)
    assert watched.round().watched


def test_a_file_that_was_just_written_is_read_again_as_without_it(
    watched: Watched, root: Path
) -> None:
    """Its pages may still change through a mapping, of which nobody is told."""
    path = root / "two" / "c"
    path.write_text("mapped next")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        watched.round()
        mapped[0:1] = b"M"
        watched.round()


def test_a_miss_is_counted_once(watched: Watched, root: Path) -> None:
    assert watched.round().watched
    with silenced(watched):
        (root / "one" / "c").write_text("unheard")
        (root / "two" / "deep" / "e").unlink()
    settle()
    watched.full_look()
    assert (tally(watched).looks, tally(watched).rounds, tally(watched).missed) == (1, 1, 2)
    assert watched.round().watched
    watched.full_look()
    assert (tally(watched).looks, tally(watched).rounds, tally(watched).missed) == (2, 2, 2)


def test_what_changes_while_everything_is_looked_at_is_no_miss(
    watched: Watched, root: Path
) -> None:
    for number in range(5):
        (root / "one" / "c").write_text(f"{number}")
        watched.full_look()
    assert tally(watched).missed == 0


# -- when everything is looked at, although it is a round


def looks_at_everything_once(watched: Watched) -> None:
    assert not watched.round().watched
    assert watched.round().watched


def has_to_be_watched_anew(watched: Watched) -> None:
    assert not watched.round().watched
    assert not watched.round().watched
    keep_watched(watched.context, watched.watches())
    looks_at_everything_once(watched)


def test_after_the_queue_overflowed(watched: Watched, root: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    (root / "one" / "c").write_text("lost in the crowd")
    for number in range(most + 10):  # two by turns: equal ones in a row are counted once
        os.utime(root / ("a" if number % 2 else "b"), (number, number))
    (root / "two" / "deep" / "new").mkdir()
    (root / "two" / "deep" / "new" / "f").write_text("f")
    looks_at_everything_once(watched)
    (root / "two" / "deep" / "new" / "f").write_text("g")
    assert watched.round().watched


def test_after_a_spare_that_died_at_it(watched: Watched, root: Path) -> None:
    (root / "one" / "c").write_text("drained by one that died")
    child = os.fork()
    if child == 0:
        [found] = watched.watches()._found
        found.table.write_note(found.table.note.replace(state=BUSY))
        found.drain()
        os._exit(0)
    reap(child)
    looks_at_everything_once(watched)


def test_after_a_capture_that_failed(watched: Watched, root: Path) -> None:
    (root / "one" / "c").write_text("drained by one that failed")
    with watched.context.locked() as locked:
        capture(locked, after=heard(locked, watched.watches(), relies=True)).sink.discard()
    assert watched.note.state == BUSY
    looks_at_everything_once(watched)


def test_after_another_process_has_captured(watched: Watched, root: Path) -> None:
    """It has listed directories that are not watched."""
    (root / "new").mkdir()
    (root / "new" / "f").write_text("1")
    settle()
    captured(watched.context)
    has_to_be_watched_anew(watched)
    (root / "new" / "f").write_text("2")
    assert watched.round().watched


def test_after_the_stat_cache_is_lost(watched: Watched) -> None:
    shutil.rmtree(watched.context.store.path("stat"))
    has_to_be_watched_anew(watched)


def test_after_an_older_stat_cache_came_back(watched: Watched, root: Path, outside: Path) -> None:
    stat = watched.context.store.path("stat")
    shutil.copytree(stat, outside / "stat")
    (root / "one" / "c").write_text("of later")
    assert watched.round().watched
    shutil.rmtree(stat)
    shutil.copytree(outside / "stat", stat)
    has_to_be_watched_anew(watched)


def test_after_the_root_was_moved_and_moved_back(watched: Watched, root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    (root.parent / "elsewhere" / "a").write_text("edited elsewhere")
    (root.parent / "elsewhere").rename(root)
    has_to_be_watched_anew(watched)


def test_after_the_settings_changed(root: Path) -> None:
    with opened(root) as context:
        watched = Watched(context)
        watched.begin()
        assert watched.round().watched
        watched.context = context.replace(policy=Policy(lock_wait=5, exclude=("two/",)))
        looks_at_everything_once(watched)
        watched.close()


def test_what_waits_to_be_looked_at_again_is_not_forgotten(watched: Watched, root: Path) -> None:
    """A file that is left out for now comes in later, with no event to tell of it."""
    for number in range(30):
        (root / "one" / f"n{number}").write_text(str(number))
    policy = Policy(lock_wait=5, entries_limit=20)
    watched.context = watched.context.replace(policy=policy)
    left = [len(watched.look(relies=True).coverage.skipped)]
    watched.context = watched.context.replace(policy=Policy(lock_wait=5))
    made = watched.round()
    assert left[0] > 0
    assert (made.watched, made.coverage.skipped) == (True, ())


# -- where there is no watch


def test_it_takes_no_more_than_half_of_what_the_system_allows(
    root: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = int(Path("/proc/sys/fs/inotify/max_user_watches").read_text())
    assert watch.most_watches() == allowed // 2
    captured(context)
    watched = Watched(context)
    monkeypatch.setattr("takeback.worktree.watch.most_watches", lambda: 5)
    keep_watched(context, watched.watches())
    assert watched.held == []
    monkeypatch.setattr("takeback.worktree.watch.most_watches", lambda: 6)
    watched.begin()
    assert watched.watched_directories == 6
    (root / "one" / "seventh").mkdir()
    settle()
    made = watched.round()
    assert made.watched  # it is in the round; from then on there are too many
    assert not watched.round().watched
    assert watched.note.token == b""
    watched.close()


def test_what_others_have_counts(root: Path, context: Context, tmp_path: Path) -> None:
    captured(context)
    other = watch.Watch.new(100)
    other.table.write_note(Note(IN_STEP, b"t", (0, 0), ()))
    fd = os.open(root, os.O_RDONLY)
    other.add(b"", fd)
    os.close(fd)
    watches = Watches([(other.queue, other.table.fd)], lambda workspace, fds: None)
    assert watches.room_besides(context.workspace) == watch.most_watches() - 1
    assert watches.of(context.workspace) is None
    other.close()


def test_a_system_that_allows_no_more_has_no_watch(
    root: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(queue: int, fd: int) -> int:
        raise OSError(28, "No space left on device")

    captured(context)
    watched = Watched(context)
    monkeypatch.setattr("takeback.kernel.watch_directory", full)
    keep_watched(context, watched.watches())
    assert watched.held == []


def test_a_directory_that_can_be_watched_no_more_is_seen_all_the_same(
    watched: Watched, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(queue: int, fd: int) -> int:
        raise OSError(28, "No space left on device")

    (root / "new").mkdir()
    (root / "new" / "f").write_text("1")
    with monkeypatch.context() as patched:
        patched.setattr("takeback.kernel.watch_directory", full)
        watched.round()
    (root / "new" / "f").write_text("22")
    has_to_be_watched_anew(watched)


def test_only_on_file_systems_that_tell_of_everything(
    root: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    captured(context)
    watched = Watched(context)
    monkeypatch.setattr("takeback.kernel.file_system", lambda fd: 0x6969)  # NFS
    keep_watched(context, watched.watches())
    assert watched.held == []
    assert not watch.RELIABLE & {0x6969, 0xFF534D42, 0xFE534D42, 0x65735546, 0x01021997, 0x794C7630}


def test_a_directory_that_was_replaced_meanwhile_is_not_watched_for_it(
    root: Path, context: Context
) -> None:
    captured(context)
    (root / "one" / "deep").rename(root / "one" / "gone")
    (root / "one" / "deep").mkdir()
    watched = Watched(context)
    keep_watched(context, watched.watches())
    assert watched.held == []  # the next turn tries again
    captured(context)
    keep_watched(context, watched.watches())
    assert watched.note.state == ARMED
    watched.close()


PROGRAM = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.support.engine import opened, settle
from tests.support.watched import Watched
with opened(Path(sys.argv[1]).resolve()) as context:
    watched = Watched(context)
    watched.begin()
    assert watched.round().watched
    [found] = watched.watches()._found
{script}
"""


def with_mounts(tmp_path: Path, place: str, script: str, before: str = "") -> None:
    """Runs what comes after a first round of a workspace where things can be mounted."""
    tests = str(Path(__file__).parents[2])
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(tests=tests, script=script))
    in_own_mounts(tmp_path, f"{before}\n{sys.executable} program.py {place}")


def test_something_mounted_over_a_directory_is_noticed(root: Path, tmp_path: Path) -> None:
    with_mounts(
        tmp_path,
        "workspace",
        """
    os.mkdir("elsewhere")
    assert os.system("mount --bind elsewhere workspace/two") == 0
    made = watched.round()
    assert not made.watched
    assert [one.path for one in made.coverage.skipped] == [b"two"]
    assert os.system("umount workspace/two") == 0
    assert not watched.round().watched
""",
    )


def test_what_is_written_through_another_mount_is_seen(root: Path, tmp_path: Path) -> None:
    with_mounts(
        tmp_path,
        "workspace",
        """
    os.mkdir("elsewhere")
    assert os.system("mount --bind workspace/two elsewhere") == 0
    Path("elsewhere/deep/e").write_text("by another way")
    settle()
    assert watched.round().watched
""",
    )


def test_an_unmounted_workspace_ends_it(tmp_path: Path) -> None:
    """Another file system may be mounted there by the next event."""
    with_mounts(
        tmp_path,
        "place/w",
        """
assert os.system("umount place") == 0
assert not found.drain().whole
assert found.table.note.token == b""
""",
        before="mkdir place; mount -t tmpfs none place; git init -q place/w; echo 1 > place/w/f",
    )


def test_an_overlay_is_not_relied_on(tmp_path: Path) -> None:
    """Who writes to one of its layers is not heard in it."""
    overlay = "lowerdir=layers/low,upperdir=layers/up,workdir=layers/work"
    program = "from takeback.worktree.watch import is_reliable as r; import os"
    ask = "print(*(r(os.open(name, os.O_RDONLY)) for name in ('over', 'layers')))"
    said = in_own_mounts(
        tmp_path,
        "mkdir -p layers over && mount -t tmpfs none layers\n"
        "mkdir layers/low layers/up layers/work\n"
        f"mount -t overlay none -o {overlay} over || exit 0\n"
        f'{sys.executable} -c "{program}; {ask}"',
    )
    assert said in ("", "False True\n")


# -- the table


def test_the_table_finds_each_path_by_its_number() -> None:
    table = WatchTable.new()
    for number in (1, 2, 3, 600, 70_000):
        table.put(number, b"x" * number)
    table.put(2, b"moved")
    table.remove(3)
    found = [table.path(number) for number in (1, 2, 3, 4, 600, 70_000, 1 << 20)]
    assert found == [b"x", b"moved", None, None, b"x" * 600, b"x" * 70_000, None]
    assert table.watches == 4
    os.close(table.fd)


def test_an_empty_path_is_a_path() -> None:
    table = WatchTable.new()
    table.put(1, b"")
    assert (table.path(1), table.path(2)) == (b"", None)
    os.close(table.fd)


# -- random work


@pytest.mark.slow
def test_random_work(watched: Watched, root: Path, outside: Path, soak: bool) -> None:
    seed = int(time.time()) if soak else 7
    churn = Churn(root, outside, seed)
    for number in range(1000 if soak else 60):
        churn.play()
        assert watched.round().watched, (seed, number)
        if number % 10 == 9:
            watched.full_look()
    assert tally(watched).missed == 0, (seed, tally(watched))
