"""Forgetting a workspace: its store is in the trash, whole, until its grace is over."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from takeback import Takeback, durable
from takeback.app.engine import Engine
from takeback.app.recording import Recording
from takeback.errors import InUse, NotAWorkspace, StoreMoved, TakebackError, UsageError
from takeback.events import hear
from takeback.model.retention import DAY
from takeback.paths import config_file, takeback_home
from takeback.retention import earlier, sweep
from takeback.store.forgotten import every_location, put_away
from takeback.store.lock import Lock
from tests.support.agent import speaker
from tests.support.inflated import holding
from tests.support.trees import tree_state


def home() -> str:
    return takeback_home(os.environ)


def kept(workspace: Path, content: str = "1\n") -> str:
    """Makes a checkpoint, and returns its id."""
    (workspace / "a").write_text(content)
    with Takeback.open(workspace) as tb:
        return tb.checkpoint().checkpoint.id


def forgotten(workspace: Path, *, days_ago: float = 0) -> earlier.Discarded | None:
    """Forgets a workspace, whoever the gate takes this process for."""
    with Engine.open(workspace, create=False) as tb:
        return earlier.forget(tb._context.store, home(), time.time() - days_ago * DAY)


def in_trash() -> list[earlier.Discarded]:
    return earlier.forgotten(home(), os.environ)


def bring_back(workspace: Path, name: str | None = None) -> earlier.BroughtBack:
    found = earlier.forgotten_at(home(), str(workspace), os.environ, name)
    return earlier.bring_back(found[-1], home(), os.environ)


def ids(workspace: Path) -> list[str]:
    with Takeback.open(workspace, create=False) as tb:
        assert tb.verify(read_data=True).problems == ()
        return [entry.checkpoint.id for entry in tb.checkpoints(everything=True)]


def settings(**values: int) -> None:
    place = Path(config_file(os.environ))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{name} = {value}\n" for name, value in values.items()))


def swept(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        sweep.run(tb.store_directory, at_start=False)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another workspace, which a sweep starts in."""
    place = tmp_path / "other"
    place.mkdir()
    kept(place)
    return place


def test_it_comes_back_whole(workspace: Path) -> None:
    old = kept(workspace)
    with Engine.open(workspace) as tb:
        store = Path(tb.store_directory)
        tb.label(old, "mine")
    before = tree_state(store)
    assert forgotten(workspace) is not None
    assert not store.parent.exists()
    with pytest.raises(NotAWorkspace):
        ids(workspace)
    [there] = in_trash()
    assert (there.root, there.checkpoints) == (os.fsencode(workspace), 1)
    bring_back(workspace)
    assert ids(workspace) == [old]
    gone = {path for path in before if path not in tree_state(store)}
    assert gone <= {b"seen", b"ledger.db-wal", b"ledger.db-shm"}
    assert in_trash() == []
    assert os.listdir(Path(home(), "forgotten")) == []


def test_what_was_kept_since_is_an_earlier_store_then(workspace: Path) -> None:
    old = kept(workspace)
    forgotten(workspace)
    new = kept(workspace, "2\n")
    made = bring_back(workspace)
    assert ids(workspace) == [old]
    [earlier] = Engine.earlier(workspace)
    assert earlier.newest is not None
    assert (earlier.newest.id, earlier.name) == (new, made.aside)
    Engine.adopt(str(made.aside), workspace)
    assert ids(workspace) == [new]


def test_of_several_the_newest_comes_back_or_the_one_that_is_named(workspace: Path) -> None:
    made = []
    for number in range(3):
        made.append(kept(workspace, f"{number}\n"))
        forgotten(workspace)
    first = in_trash()[0]
    with pytest.raises(UsageError, match="not in the trash"):
        bring_back(workspace, "nonsense")
    bring_back(workspace)
    assert ids(workspace) == [made[2]]
    bring_back(workspace, first.id)
    assert ids(workspace) == [made[0]]
    bring_back(workspace)
    assert ids(workspace) == [made[1]]
    assert len(Engine.earlier(workspace)) == 2


def test_one_that_was_set_aside_comes_back_set_aside(workspace: Path) -> None:
    old = kept(workspace)
    shutil.rmtree(workspace)
    workspace.mkdir()
    new = kept(workspace)
    forgotten(workspace)
    Engine.adopt("", workspace)
    assert ids(workspace) == [old]
    bring_back(workspace)
    assert ids(workspace) == [new]
    [earlier] = Engine.earlier(workspace)
    assert earlier.newest is not None
    assert earlier.newest.id == old


def test_a_directory_that_is_gone_or_was_moved(workspace: Path) -> None:
    old = kept(workspace)
    forgotten(workspace)
    there = workspace.with_name("there")
    workspace.rename(there)
    bring_back(workspace)
    assert ids(there) == [old]


def test_a_place_inside_the_workspace_means_it(workspace: Path) -> None:
    old = kept(workspace)
    (workspace / "sub").mkdir()
    forgotten(workspace / "sub")
    with pytest.raises(NotAWorkspace, match="is in the trash"):
        bring_back(workspace.parent)
    bring_back(workspace / "sub")
    assert ids(workspace) == [old]


def test_it_is_kept_for_its_grace_and_not_longer(workspace: Path, other: Path) -> None:
    kept(workspace)
    forgotten(workspace, days_ago=6)
    swept(other)
    [there] = in_trash()
    assert there.until is not None
    settings(grace_days=5)
    swept(other)
    assert in_trash() == []
    assert os.listdir(Path(home(), "forgotten")) == []


def test_the_grace_is_that_of_its_own_settings(workspace: Path, other: Path) -> None:
    kept(workspace)
    with Engine.open(workspace) as tb:
        Path(tb.store_directory, "config.toml").write_text("grace_days = 100\n")
    forgotten(workspace, days_ago=50)
    swept(other)
    assert len(in_trash()) == 1
    [place] = Path(home(), "forgotten").glob("*/*")
    (place / "config.toml").write_text("grace_days = nonsense\n")
    settings(grace_days=1)
    swept(other)
    [there] = in_trash()
    assert there.until is None


def test_without_grace_it_is_gone(workspace: Path) -> None:
    kept(workspace)
    settings(grace_days=0)
    assert forgotten(workspace) is None
    assert in_trash() == []


def test_now_it_is_gone(workspace: Path) -> None:
    kept(workspace)
    with Takeback.open(workspace) as tb:
        tb.forget(now=True)
    assert in_trash() == []


def test_the_trash_counts_and_gives_way_first(workspace: Path, other: Path) -> None:
    (workspace / "large").write_bytes(os.urandom(3_000_000))
    kept(workspace)
    forgotten(workspace)
    with Engine.open(other) as tb:
        assert [one.forgotten is not None for one in tb.all_stores().stores] == [True, False]
    settings(max_total_bytes=2_000_000)
    with Engine.open(other) as tb:
        assert tb.all_stores().too_many > 1_000_000
        tb.prune(tb.plan_prune())
    assert in_trash() == []
    assert len(ids(other)) == 1


def test_every_store_is_listed_wherever_it_is(workspace: Path, other: Path) -> None:
    kept(workspace)
    roots = {os.fsencode(workspace), os.fsencode(other)}
    assert {one.root for one in every_location(home())} == roots
    forgotten(workspace)
    assert {one.root for one in every_location(home())} == roots


def test_one_that_does_not_say_whose_it_is_says_it_in_the_trash(workspace: Path) -> None:
    old = kept(workspace)
    with Engine.open(workspace) as tb:
        Path(tb.store_directory, "workspace.json").unlink()
        tb.forget()
    bring_back(workspace)
    assert ids(workspace) == [old]


@pytest.mark.parametrize("name", ["sweep.lock", "maintenance.lock", "lock"])
def test_it_waits_for_who_is_at_work_there(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    old = kept(workspace)
    monkeypatch.setattr(earlier, "_LOCKS_IN", 0.05)
    with Engine.open(workspace) as tb, Lock(os.path.join(tb.store_directory, name)) as lock:
        lock.acquire("a test", wait=0)
        with pytest.raises(InUse):
            tb.forget()
    assert ids(workspace) == [old]


def test_a_full_disk_takes_it_all_the_same(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who forgets may do it to have room: the stat cache makes some, which is disposable."""
    old = kept(workspace)

    class Full:
        def step(self, name: str) -> None:
            with_cache = list(Path(home(), "workspaces").glob("*/*/stat/table"))
            if name == "mkdir" and with_cache:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Engine.open(workspace) as tb:
        monkeypatch.setattr(durable, "faults", Full())
        assert tb.forget() is not None
    monkeypatch.setattr(durable, "faults", None)
    bring_back(workspace)
    assert ids(workspace) == [old]


def told(workspace: Path, event: str) -> None:
    said = {"event": event, "agent": "mine", "session": "s", "cwd": str(workspace), "prompt": "p"}
    heard = hear(speaker(), lambda: said)
    assert heard.failure is None
    assert heard.checkpoint is not None, heard


def test_an_event_that_waited_meanwhile_begins_a_new_store(workspace: Path) -> None:
    old = kept(workspace)
    is_held = threading.Event()

    def forgetting() -> None:
        with Engine.open(workspace) as tb, tb._context.store.locked("a test", wait=0) as locked:
            is_held.set()
            time.sleep(0.5)
            put_away(locked, home(), time.time())

    other = threading.Thread(target=forgetting)
    other.start()
    assert is_held.wait(timeout=30)
    told(workspace, "prompt")
    other.join(timeout=30)
    with Takeback.open(workspace, create=False) as new:
        [entry] = new.checkpoints()
        assert entry.checkpoint.kind == "prompt"
        assert new.status().failures == ()
    bring_back(workspace)
    assert ids(workspace) == [old]


def test_a_store_that_has_gone_since_it_was_opened_is_said_to_have_moved(workspace: Path) -> None:
    kept(workspace)
    with Recording.open(str(workspace)) as tb:
        forgotten(workspace)
        with pytest.raises(StoreMoved):
            tb._context.locked().__enter__()
        assert tb.await_rounds(wait=1)


def test_hooks_and_forgetting_at_the_same_time(workspace: Path) -> None:
    """Each event has a checkpoint, in one store or another, and nothing goes wrong."""
    turns, ended = 6, threading.Event()
    failures: list[Exception] = []

    def forgetting() -> None:
        while not ended.wait(0.01):
            try:
                forgotten(workspace)
            except (NotAWorkspace, StoreMoved, InUse):
                continue
            except (TakebackError, OSError) as error:
                failures.append(error)

    other = threading.Thread(target=forgetting)
    other.start()
    try:
        for number in range(turns):
            (workspace / "a").write_text(f"{number}\n")
            told(workspace, "prompt")
            told(workspace, "turn_end")
    finally:
        ended.set()
        other.join(timeout=60)
    assert failures == []
    while in_trash():
        bring_back(workspace)
    offered = Engine.earlier(workspace)
    assert len(offered) > 1
    assert len(ids(workspace)) + sum(one.checkpoints for one in offered) == 2 * turns


def test_two_who_forget_or_bring_back_do_it_once(workspace: Path) -> None:
    old = kept(workspace)
    done: list[str] = []

    def one(action: str) -> None:
        try:
            if action == "forget":
                forgotten(workspace)
            else:
                bring_back(workspace)
            done.append(action)
        except (NotAWorkspace, StoreMoved):
            pass

    for action in ("forget", "bring back"):
        both = [threading.Thread(target=one, args=(action,)) for _ in range(3)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(timeout=60)
        assert done.count(action) == 1
    assert ids(workspace) == [old]


def test_a_purge_reaches_what_is_in_the_trash(workspace: Path, other: Path) -> None:
    secret = "TOKEN=hunter2-is-my-password\n"
    (workspace / "secret.env").write_text(secret)
    old = kept(workspace)
    forgotten(workspace)
    (other / "secret.env").write_text(secret)
    kept(other)
    with Engine.open(other) as tb:
        assert tb.purge(tb.plan_purge("secret.env")).unread == ()
    bring_back(workspace)
    assert ids(workspace) == [old]
    assert holding(Path(home()), b"hunter2-is-my-password") == []
