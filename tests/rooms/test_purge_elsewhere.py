"""A purge goes over every store of the home, and names each that it could not look into."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from takeback.app.engine import Engine
from takeback.errors import NoSuchCheckpoint
from takeback.model import event as events
from takeback.model.event import AgentEvent
from takeback.purge.purge import Purge, Purging
from takeback.retention.earlier import forget
from takeback.store import pending, trees
from takeback.store.location import all_locations
from takeback.store.lock import Lock
from tests.support.cli import Cli
from tests.support.engine import NOON, TestClock, garble
from tests.support.escaped import escaped
from tests.support.git import git
from tests.support.inflated import all_bytes, holding

VALUE = b"hunter2/is<my-password"
ESCAPED = rb"hunter2\/is\u003cmy-password"
ANOTHER = b"another-secret-value"
SECRET = b"TOKEN=" + VALUE + b"\nKEY=" + ANOTHER + b"\n"


@pytest.fixture
def home() -> Path:
    return Path(os.environ["TAKEBACK_HOME"])


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    (workspace / ".gitignore").write_text("*.env\n")
    (workspace / "secret.env").write_bytes(SECRET)
    with opened(workspace) as made:
        made.checkpoint()
        yield made


def opened(root: Path) -> Engine:
    root.mkdir(exist_ok=True)
    return Engine.open(root, clock=TestClock())


def tell(tb: Engine, kind: events.EventKind, **fields: object) -> None:
    event = AgentEvent(kind, "mine", "s", os.fsdecode(tb.root), turn="t1")
    tb.receive(event.replace(**fields))


def planned(tb: Engine) -> Purge:
    made = tb.plan_purge("secret.env")
    made._upkeep = tb._upkeep().replace(wait=0.1)
    return made


def purge(tb: Engine) -> Purging:
    return tb.purge(planned(tb))


def quoting(root: Path, value: bytes = VALUE) -> str:
    """Makes another workspace that quotes the secret in a prompt; returns where its store is."""
    with opened(root) as tb:
        (root / "plain").write_text("plain")
        tell(tb, events.PROMPT, prompt=f"use {os.fsdecode(value)}")
        return tb._context.store.directory


def left(home: Path) -> list[str]:
    return holding(home, VALUE, ESCAPED, ANOTHER)


def test_a_fork_whose_conversation_quotes_it_is_purged(
    tb: Engine, workspace: Path, home: Path
) -> None:
    transcript = workspace.parent / "transcript.jsonl"
    transcript.write_bytes(b'{"text": "cat secret.env: ' + ESCAPED + b'"}\n')
    tell(tb, events.PROMPT, prompt="go", transcript=str(transcript))
    tell(tb, events.TURN_END, transcript=str(transcript))
    root = workspace.parent / "forked"
    tb.fork("turn:1.end", worktree=str(root))
    with opened(root) as forked:
        forked.checkpoint()
    assert len(left(home)) > 1
    made = purge(tb)
    assert (made.found, made.unread, made.without) == ((), (), 0)
    assert [store.root for store in made.stores] == [tb.root, os.fsencode(root)]
    assert left(home) == []
    with opened(root) as forked:
        assert forked.verify(read_data=True).problems == ()


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_a_capture_elsewhere_does_not_bring_the_quote_back(
    tb: Engine, workspace: Path, home: Path, times: int
) -> None:
    root = workspace.parent / "other"
    quote = escaped(VALUE.decode(), times, Random(times), numbers=0.5)
    transcript = workspace.parent / "transcript.jsonl"
    transcript.write_text(f'{{"text": "it is {quote}"}}\n')
    with opened(root) as other:
        tell(other, events.PROMPT, prompt="go", transcript=str(transcript))
    assert purge(tb).is_sure
    with transcript.open("a") as file:
        file.write('{"text": "more"}\n')
    with opened(root) as other:
        tell(other, events.TURN_END, transcript=str(transcript))
    assert holding(home, quote.encode()) == []
    assert b"more" in b"".join(data for _, data in all_bytes(home))


def test_other_workspaces_that_only_quote_it_are_purged(
    tb: Engine, workspace: Path, home: Path
) -> None:
    for number, value in enumerate((VALUE, ESCAPED)):
        quoting(workspace.parent / f"prompt{number}", value)
    with opened(workspace.parent / "labelled") as other:
        (workspace.parent / "labelled" / "plain").write_text("plain")
        other.label(other.checkpoint().checkpoint, os.fsdecode(ANOTHER))
    with opened(workspace.parent / "waiting") as other:
        other.checkpoint()
        event = AgentEvent(events.PROMPT, "mine", "s", os.fsdecode(other.root), turn="t")
        pending.leave(other._context.store, event.replace(prompt=os.fsdecode(VALUE)), 1.0, ())
    made = purge(tb)
    assert (made.found, made.unread, made.without) == ((), (), 0)
    assert len(made.stores) == 5
    assert left(home) == []
    with opened(workspace.parent / "labelled") as other:
        assert [e.checkpoint.label for e in other.checkpoints()] == ["*" * len(ANOTHER)]
        assert other.cat("@", "plain") == b"plain"


def test_a_store_without_it_is_looked_through_and_left_as_it_is(
    tb: Engine, workspace: Path, home: Path
) -> None:
    with opened(workspace.parent / "other") as other:
        (workspace.parent / "other" / "plain").write_text("plain")
        other.checkpoint()
        directory = other._context.store.directory
    with opened(workspace.parent / "notes") as other:
        (workspace.parent / "notes" / "notes.txt").write_bytes(b"see " + VALUE)
        other.checkpoint()
    before = dict(all_bytes(Path(directory)))
    shown, made = planned(tb).outlook(), purge(tb)
    assert dict(all_bytes(Path(directory))) == before
    for one in (shown, made):
        assert (one.unread, one.without) == ((), 1)
        assert [(store.has_it, store.also_in) for store in one.stores] == [
            (True, ()),
            (False, (b"notes.txt",)),
        ]
    assert left(home) != []


def away() -> str:
    return os.path.join(os.path.dirname(os.environ["TAKEBACK_HOME"]), "away")


@contextmanager
def replaced(path: str, target: str | None = None) -> Iterator[None]:
    """Something else lies at a path for a while: an empty file, or a link."""
    os.rename(path, away())
    if target is None:
        Path(path).touch()
    else:
        os.symlink(target, path)
    yield
    os.unlink(path)
    os.rename(away(), path)


@contextmanager
def changed(path: str, data: bytes) -> Iterator[None]:
    before = Path(path).read_bytes()
    Path(path).write_bytes(data)
    yield
    Path(path).write_bytes(before)


@contextmanager
def interrupted(directory: str) -> Iterator[None]:
    path = Path(directory, "journal")
    path.write_text("{")
    yield
    path.unlink()


@contextmanager
def with_a_strange_ref(directory: str) -> Iterator[None]:
    bare = Path(directory, "store.git")
    tip = git(bare, "for-each-ref", "--format=%(objectname)").split()[0]
    git(bare, "update-ref", "refs/heads/mine", tip)
    yield
    git(bare, "update-ref", "-d", "refs/heads/mine")


@contextmanager
def busy(directory: str) -> Iterator[None]:
    with Lock(os.path.join(directory, "lock")) as lock:
        lock.acquire("a test", wait=1)
        yield


@contextmanager
def half_deleted(directory: str) -> Iterator[None]:
    bare = os.path.join(directory, "store.git")
    os.rename(bare, os.path.join(directory, "forgotten.git"))
    with replaced(os.path.join(directory, "format")):
        yield
    os.rename(os.path.join(directory, "forgotten.git"), bare)


def newer(directory: str) -> AbstractContextManager[None]:
    return changed(os.path.join(directory, "format"), b"99\n")


def a_pack(directory: str) -> str:
    return str(next(Path(directory, "store.git", "objects", "pack").glob("*.idx")))


TROUBLES: dict[str, Callable[[str], AbstractContextManager[None]]] = {
    "newer": newer,
    "nameless": lambda it: changed(f"{it}/workspace.json", b"{"),
    "without refs": lambda it: replaced(f"{it}/store.git/refs"),
    "without packs": lambda it: replaced(f"{it}/store.git/objects/pack"),
    "a pack that does not open": lambda it: replaced(a_pack(it), a_pack(it)),
    "interrupted": interrupted,
    "a strange ref": with_a_strange_ref,
    "busy": busy,
    "half deleted": half_deleted,
    "elsewhere": lambda it: replaced(it, away()),
    "on a disk that is not there": lambda it: replaced(it, "/nowhere/at/all"),
    "cannot be listed": lambda it: replaced(it, it),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_store_that_cannot_be_purged_is_named_and_the_others_are(
    tb: Engine, workspace: Path, home: Path, trouble: str
) -> None:
    directory = quoting(workspace.parent / "a")
    quoting(workspace.parent / "b")
    with TROUBLES[trouble](directory):
        made = purge(tb)
    assert [one.directory for one in made.unread] == [directory]
    assert made.unread[0].why
    assert not made.is_sure
    assert len(made.stores) == 2
    assert len(left(home)) > 0
    assert all(where.startswith(directory) for where in left(home))
    made = purge(tb)
    assert (made.found, made.unread, made.without) == ((), (), 1)
    assert left(home) == []


def test_damage_of_another_store_is_named(tb: Engine, workspace: Path) -> None:
    with opened(workspace.parent / "a") as other:
        (workspace.parent / "a" / "plain").write_text("plain")
        made = other.checkpoint().checkpoint
        store = other._context.store
        entry = trees.lookup(store, made.tree, b"plain")
        assert entry is not None
        garble(store, entry.oid)
    for one in (planned(tb).outlook(), purge(tb)):
        assert [unread.directory for unread in one.unread] == [store.directory]
        assert "not all of it can be read" in one.unread[0].why


def test_a_store_in_the_trash_is_purged(tb: Engine, workspace: Path, home: Path) -> None:
    quoting(workspace.parent / "a")
    with opened(workspace.parent / "a") as other:
        kept = forget(other._context.store, str(home), NOON)
    assert kept is not None
    assert any(where.startswith(kept.forgotten.location.directory) for where in left(home))
    assert purge(tb).is_sure
    assert left(home) == []


def test_it_can_be_purged_again_by_its_tombstones_when_the_file_is_gone(
    tb: Engine, workspace: Path, home: Path
) -> None:
    root = workspace.parent / "clone"
    root.mkdir()
    (root / "secret.env").write_bytes(SECRET)
    with opened(root) as other:
        tell(other, events.PROMPT, prompt=f"use {os.fsdecode(VALUE)}")
        other.checkpoint()
    quoting(workspace.parent / "b")
    with ExitStack() as stack:
        for one in all_locations(str(home)):
            if one.root != tb.root:
                stack.enter_context(newer(one.directory))
        assert len(purge(tb).unread) == 2
        (workspace / "secret.env").unlink()
        with pytest.raises(NoSuchCheckpoint):
            purge(tb)
    made = purge(tb)
    assert made.is_sure
    assert sorted(store.versions for store in made.stores) == [0, 0, 1]
    assert made.again
    assert left(home) == []
    with pytest.raises(NoSuchCheckpoint):
        purge(tb)


def test_what_is_the_name_of_a_file_elsewhere_takes_no_record_apart_there(
    tb: Engine, workspace: Path
) -> None:
    root = workspace.parent / "other"
    (workspace / "secret.env").write_bytes(SECRET + b"DB=data/things.sqlite\nAT=%s\n" % bytes(root))
    tb.checkpoint()
    (root / "data").mkdir(parents=True)
    (root / "data" / "things.sqlite").write_text("db")
    with opened(root) as other:
        prompt = f"look into data/things.sqlite of {root}"
        tell(other, events.PROMPT, prompt=prompt)
    assert purge(tb).without == 1
    with opened(root) as other:
        assert other.find("turn:1").prompt == prompt


def test_the_command_says_it_and_ends_with_3(workspace: Path, cli: Cli) -> None:
    (cli.directory / "secret.env").write_bytes(SECRET)
    cli.ok("checkpoint")
    directory = quoting(workspace.parent / "a")
    quoting(workspace.parent / "b")
    confirmed = ("purge", "secret.env", "--confirm", "secret.env")
    with newer(directory):
        dry = cli.run("--json", "purge", "secret.env", "--dry-run")
        done = cli.run("--json", *confirmed)
        again = cli.run(*confirmed)
    for answer in (dry, done):
        assert answer.status == 3, str(answer)
        assert (answer.json["unread"], answer.json["proved"]) == ([directory], False)
        assert "format 99" in answer.json["reasons"][0]
    assert again.status == 3
    assert f"Not looked into, and it may be there: {directory}: the store has" in str(again)
    last = cli.run("--json", *confirmed)
    assert (last.status, last.json["proved"], last.json["again"]) == (0, True, True)
