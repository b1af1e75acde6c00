"""A purge: the secret is gone from everything, and everything else is as it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from takeback.app.engine import Engine
from takeback.errors import NoSuchCheckpoint, Refused, TakebackError, UsageError, WriteFailed
from takeback.model import event as events
from takeback.model.coverage import PURGED, Overrides
from takeback.model.event import EDIT, AgentEvent, ToolCall
from takeback.model.secret import Needles
from takeback.purge.purge import Purging
from takeback.store import notes, pending, tombstones
from takeback.store import trees as trees_of
from takeback.store.conversation import PIECE, read_conversation
from takeback.store.records import conversation_tree, read_record
from takeback.store.redaction import has_begun
from tests.support.engine import TestClock, garble, settle
from tests.support.escaped import escaped
from tests.support.git import git
from tests.support.inflated import all_bytes, holding

VALUE = b"hunter2-is-my-password"
SECRET = b"# the key\nTOKEN=" + VALUE + b"\n"
OLDER = b"TOKEN=an-older-secret-value\n"


@pytest.fixture
def home() -> Path:
    return Path(os.environ["TAKEBACK_HOME"])


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    with Engine.open(workspace, clock=TestClock()) as opened:
        yield opened


def purge(tb: Engine, *names: str) -> Purging:
    return tb.purge(tb.plan_purge(*names))


def tell(tb: Engine, kind: events.EventKind, **fields: object) -> None:
    event = AgentEvent(kind, "mine", "s", os.fsdecode(tb.root), turn="t1")
    tb.receive(event.replace(**fields))


def fill(tb: Engine, root: Path) -> None:
    """Puts a secret wherever something of it can be recorded."""
    value = VALUE.decode()
    transcript = root.parent / "transcript.jsonl"
    (root / ".gitignore").write_text("*.key\ndeep/\n")
    (root / "deep").mkdir()
    (root / "plain").write_text("one")
    (root / "config" / "env").mkdir(parents=True)
    secret = root / "config" / "env" / "secret.env"
    secret.write_bytes(OLDER)
    (root / "mine.key").write_bytes(SECRET)  # ignored: saved beside the snapshot
    (root / "deep" / "x.key").write_bytes(SECRET)
    quoted = '{"text": "cat secret.env: TOKEN=' + value + '"}\n'
    filler = '{"text": "' + "x" * (PIECE - len(quoted) // 2 - 20) + '"}\n'
    transcript.write_text(filler + quoted * 3)  # the first one lies across two pieces
    tell(tb, events.PROMPT, prompt=f"use {value}", transcript=str(transcript))
    secret.write_bytes(SECRET)
    (root / "plain").write_text("two")
    tool = ToolCall(f"Edit {value}", EDIT, (str(root / "deep" / "x.key"), str(outside_file(root))))
    outside_file(root).write_bytes(SECRET)
    tell(tb, events.TOOL_BEFORE, tools=(tool,))
    tell(tb, events.TURN_END, transcript=str(transcript))
    tb.label(tb.find("turn:1"), f"with {value}")
    tb.label(tb.find("turn:1"), "kept")
    settle()
    (root / "mine.key").write_bytes(b"another key, of no importance")
    tb.checkpoint(message=f"by hand, {value}")
    tb.rewind("turn:1", scope="files", ignored=True, overrides=Overrides.all())
    tb.undo(overrides=Overrides.all())
    settle()
    (root / "plain").write_text("three")
    tell(tb, events.PROMPT, prompt="more", turn="t2", transcript=str(transcript))
    tell(tb, events.TURN_END, turn="t2", transcript=str(transcript))
    settle()
    (root / "plain").write_text("four")
    tb.checkpoint()
    tb.prune(tb.plan_prune(["turn:2"]))  # to the trash


def leave(tb: Engine, root: Path, home: Path) -> None:
    """Leaves it in every kind of file that there is beside the objects."""
    value, store = VALUE.decode(), tb._context.store
    waiting = AgentEvent(events.PROMPT, "mine", "s2", str(root), turn="t3", prompt=f"late {value}")
    pending.leave(store, waiting, 1.0, ())
    Path(store.path("pending", "unreadable-1")).write_bytes(VALUE)
    Path(store.path("parcels")).mkdir()
    Path(store.path("parcels", "one.json")).write_bytes(VALUE)
    Path(store.path(".journal.99.tmp")).write_bytes(VALUE)
    notes.append(store, f"a tool said {value}")
    notes.append_to(str(home / "log"), f"a hook said {value}")
    (home / "connected").mkdir(exist_ok=True)
    (home / "connected" / "claude-1-settings.json").write_bytes(VALUE)


def outside_file(root: Path) -> Path:
    return root.parent / "out.key"


def kinds(places: list[str]) -> set[str]:
    return {os.path.basename(place) for place in places}


def test_it_is_gone_from_everything_and_the_rest_is_as_it_was(
    tb: Engine, workspace: Path, home: Path
) -> None:
    fill(tb, workspace)
    tb.fork("turn:1.end", worktree=str(workspace.parent / "workspace-fork"))
    with Engine.open(workspace.parent / "workspace-fork", clock=TestClock()) as forked:
        forked.checkpoint()
    leave(tb, workspace, home)
    held = {"one.json", "unreadable-1", "log", "store.git", "claude-1-settings.json"}
    assert held <= kinds(holding(home, VALUE))
    before = [entry.checkpoint.id for entry in tb.checkpoints(everything=True)]
    trees = {id: held_by(tb, id) for id in before}
    made = purge(tb, "config/env/secret.env")
    assert made.found == ()
    assert len(made.stores) == 2
    outside = os.fsencode(outside_file(workspace))
    assert made.stores[0].copies == (outside, b"deep/x.key", b"mine.key")
    assert made.stores[0].versions == 2
    assert holding(home, VALUE, b"an-older-secret-value") == []
    assert [e.checkpoint.id for e in tb.checkpoints(everything=True)][-len(before) :] == before
    for id, paths in trees.items():
        now = held_by(tb, id)
        assert now == {path: oid for path, oid in paths.items() if path in now}
        assert {path for path in paths if path not in now} <= GONE
    assert tb.verify(read_data=True).problems == ()
    assert tb.find("kept").label == "kept"
    tb.restore()
    on_disk = {path: (workspace / os.fsdecode(path)).read_bytes() for path in GONE}
    tb.redo(overrides=Overrides.all())
    tb.undo(overrides=Overrides.all())
    for path in GONE - {b"mine.key"}:  # that one has another content by now
        assert (workspace / os.fsdecode(path)).read_bytes() == on_disk[path]
    assert holding(home, VALUE, b"an-older-secret-value") == []
    assert tb.verify(read_data=True).problems == ()


GONE = {b"config/env/secret.env", b"mine.key", b"deep/x.key"}


def held_by(tb: Engine, id: str) -> dict[bytes, bytes]:
    """Returns every file of a checkpoint, those saved beside it too."""
    found, store = tb.find(id), tb._context.store
    if found.expired is not None:
        return {}
    roots = [found.tree, *([bytes.fromhex(found.saved)] if found.saved else [])]
    return {
        path: entry.oid
        for root in roots
        for path, entry in trees_of.walk(store, root)
        if not entry.is_directory
    }


@pytest.mark.parametrize("times", [1, 2, 3])
def test_it_is_gone_however_it_is_escaped_and_over_how_many_pieces(
    tb: Engine, workspace: Path, home: Path, times: int
) -> None:
    random = Random(times)
    secret = "pass/<word>&" + "".join(random.choices("abcdefgh/\\<é", k=200)) + "-end"
    (workspace / "secret.env").write_text(f"TOKEN={secret}\n")
    transcript = workspace.parent / "transcript.jsonl"
    lines, kept = [], []
    for number in range(6):
        quote = escaped(secret, times, random, numbers=number / 5)
        around = escaped("x" * random.randrange(PIECE), times, random, numbers=0)
        lines.append(f'{{"text": "{around}{quote}{around}"}}\n')
        kept.append(f'{{"text": "{around}{"*" * len(quote.encode())}{around}"}}\n')
        transcript.write_text("".join(lines))
        prompt = f"use {quote}." if times < 3 else ""
        tell(tb, events.PROMPT, prompt=prompt, turn=f"t{number}", transcript=str(transcript))
        tell(tb, events.TURN_END, turn=f"t{number}", transcript=str(transcript))
    made = purge(tb, "secret.env")
    assert made.found == ()
    needles = Needles.of([secret.encode()])
    assert [where for where, data in all_bytes(home) if needles.are_in(data)] == []
    store = tb._context.store
    for number in range(6):
        tree = conversation_tree(read_record(store, tb.find(f"turn:{number + 1}.end").commit))
        assert tree is not None
        assert read_conversation(store, tree) == ("".join(kept[: number + 1]).encode(),)
    assert tb.verify(read_data=True).problems == ()


def test_a_capture_does_not_bring_it_back(tb: Engine, workspace: Path, home: Path) -> None:
    fill(tb, workspace)
    purge(tb, "config/env/secret.env")
    (workspace / "copy").write_bytes(SECRET)
    (workspace / "plain").write_text("five")
    transcript = workspace.parent / "transcript.jsonl"
    transcript.write_text(transcript.read_text() + '{"text": "and more"}\n')
    tell(tb, events.PROMPT, prompt="go on", turn="t9", transcript=str(transcript))
    tool = ToolCall("Edit", EDIT, (str(outside_file(workspace)),))
    tell(tb, events.TOOL_BEFORE, turn="t9", tools=(tool,))
    (workspace / "config" / "env" / "secret.env").write_bytes(b"TOKEN=" + VALUE + b"-changed\n")
    tell(tb, events.TURN_END, turn="t9", transcript=str(transcript))
    tb.fork("@")  # the transcript is read once more
    assert holding(home, VALUE) == []
    shown = {item.path: item.reason for item in tb.show("@").not_held}
    assert shown[b"copy"] == shown[b"config/env/secret.env"] == PURGED


def test_what_an_agent_wrote_of_it_since_the_last_checkpoint_never_comes_in(
    tb: Engine, workspace: Path, home: Path
) -> None:
    (workspace / "secret.env").write_bytes(SECRET)
    transcript = workspace.parent / "transcript.jsonl"
    transcript.write_text('{"text": "hello"}\n')
    tell(tb, events.PROMPT, prompt="go", transcript=str(transcript))
    with transcript.open("a") as file:
        file.write(f'{{"text": "it is {VALUE.decode()}"}}\n')
    assert purge(tb, "secret.env").stores[0].transcripts == (str(transcript),)
    tell(tb, events.TURN_END, transcript=str(transcript))
    assert holding(home, VALUE) == []


def test_a_rewind_across_it_leaves_the_file_alone_and_says_purged(
    tb: Engine, workspace: Path
) -> None:
    (workspace / "plain").write_text("one")
    before = tb.checkpoint().checkpoint
    secret = workspace / "secret.env"
    secret.write_bytes(SECRET)
    held = tb.checkpoint().checkpoint
    (workspace / "plain").write_text("two")
    secret.write_bytes(OLDER)
    tb.checkpoint()
    purge(tb, "secret.env")
    for target in (held, before, held):
        target = tb.find(target.id)
        done = tb.rewind(target, overrides=Overrides.all())
        assert secret.read_bytes() == OLDER
        [left] = done.left_alone
        assert left.path == b"secret.env"
        assert PURGED in left.reason
        assert left.by_rule
    tb.undo(overrides=Overrides.all())
    assert secret.read_bytes() == OLDER
    assert (workspace / "plain").read_text() == "two"
    with pytest.raises(NoSuchCheckpoint, match=r"does not hold secret.env \(purged\)"):
        tb.cat(held.id, "secret.env")
    secret.unlink()
    tb.rewind(held.id, overrides=Overrides.all())
    assert not secret.exists()


def test_a_pattern_takes_all_that_it_matches_and_nothing_else(
    tb: Engine, workspace: Path, home: Path
) -> None:
    (workspace / "d").mkdir()
    for name in ("a.pem", "d/b.pem", "d/c.txt"):
        (workspace / name).write_text(f"content of {name} here")
    tb.checkpoint()
    made = purge(tb, "*.pem")
    assert made.stores[0].paths == (b"a.pem", b"d/b.pem")
    assert holding(home, b"content of a.pem", b"content of d/b.pem") == []
    assert tb.cat("@", "d/c.txt") == b"content of d/c.txt here"
    with pytest.raises(NoSuchCheckpoint, match="nothing that is kept is at nowhere"):
        purge(tb, "nowhere")
    with pytest.raises(UsageError, match="not of the workspace itself"):
        purge(tb, ".")


def test_other_files_that_quote_it_stay_and_are_named(tb: Engine, workspace: Path) -> None:
    (workspace / "secret.env").write_bytes(SECRET)
    (workspace / "notes.txt").write_bytes(b"see " + VALUE + b" in the vault")
    (workspace / "empty").write_bytes(b"")
    tb.checkpoint()
    planned = tb.plan_purge("secret.env")
    shown = planned.outlook()
    made = tb.purge(planned)
    for one in (shown, made):
        assert one.stores[0].also_in == (b"notes.txt",)
        assert one.found == ()
    assert tb.cat("@", "notes.txt") == b"see " + VALUE + b" in the vault"


def test_the_outlook_says_what_a_purge_does_and_changes_nothing(
    tb: Engine, workspace: Path, home: Path
) -> None:
    fill(tb, workspace)
    before = dict(all_bytes(home))
    shown = tb.plan_purge("config/env/secret.env").outlook()
    assert dict(all_bytes(home)) == before
    [store] = shown.stores
    assert (store.paths, store.versions) == ((b"config/env/secret.env",), 2)
    assert store.quotes > 3
    assert store.transcripts == (str(workspace.parent / "transcript.jsonl"),)
    assert VALUE.decode() not in repr(shown)
    made = purge(tb, "config/env/secret.env")
    assert made.stores[0].checkpoints == store.checkpoints


def test_a_secret_that_was_emptied_takes_no_other_empty_file_along(
    tb: Engine, workspace: Path
) -> None:
    (workspace / "secret.env").write_bytes(b"")
    (workspace / "other").write_bytes(b"")
    tb.checkpoint()
    purge(tb, "secret.env")
    assert tb.cat("@", "other") == b""


def test_what_was_purged_before_stays_so(tb: Engine, workspace: Path, home: Path) -> None:
    for name, data in (("a.env", SECRET), ("b.env", OLDER)):
        (workspace / name).write_bytes(data)
    tb.checkpoint()
    purge(tb, "a.env")
    purge(tb, "b.env")
    stones = tombstones.load(tb._context.store)
    assert stones is not None
    assert stones.hides(b"a.env")
    assert stones.hides(b"b.env")
    tb.checkpoint()
    assert holding(home, VALUE, b"an-older-secret-value") == []


def test_a_ref_that_somebody_made_by_hand_refuses_it(tb: Engine, workspace: Path) -> None:
    (workspace / "a.env").write_bytes(SECRET)
    made = tb.checkpoint().checkpoint
    git = tb._context.store.git
    git.run(["update-ref", "refs/heads/mine", made.commit.hex()])
    with pytest.raises(Refused, match="refs/heads/mine"):
        purge(tb, "a.env")
    assert tb.cat("@", "a.env") == SECRET


def test_it_is_a_line_of_the_log_that_undo_steps_over(tb: Engine, workspace: Path) -> None:
    (workspace / "plain").write_text("one")
    (workspace / "a.env").write_bytes(SECRET)
    first = tb.checkpoint().checkpoint
    (workspace / "plain").write_text("two")
    tb.rewind(first)
    purge(tb, "a.env")
    assert [one.operation.kind for one in tb.operation_log()][-1] == "purge"
    tb.undo()
    assert (workspace / "plain").read_text() == "two"


def test_a_path_in_it_is_no_secret_and_takes_no_record_apart(
    tb: Engine, workspace: Path, home: Path
) -> None:
    (workspace / "data").mkdir()
    (workspace / "data" / "things.sqlite").write_text("db")
    secret = b"ROOT=%s\nDB=data/things.sqlite\n" % os.fsencode(workspace)
    (workspace / "secret.env").write_bytes(secret + SECRET)
    transcript = workspace.parent / "t.jsonl"
    transcript.write_text('{"text": "in data/things.sqlite"}\n')
    tell(tb, events.PROMPT, prompt="look into data/things.sqlite", transcript=str(transcript))
    made = purge(tb, "secret.env")
    assert made.found == ()
    found = tb.find("turn:1")
    assert found.prompt == "look into data/things.sqlite"
    assert found.directory == os.fsdecode(tb.root)
    assert found.transcript[0].path == str(transcript)
    assert holding(home, VALUE) == []


@pytest.mark.parametrize("damage", ["flipped", "emptied", "deleted"])
def test_lost_or_damaged_tombstones_are_reported(tb: Engine, workspace: Path, damage: str) -> None:
    (workspace / "a.env").write_bytes(SECRET)
    tb.checkpoint()
    purge(tb, "a.env")
    assert tb.verify().problems == ()
    file = Path(tb._context.store.path(tombstones.FILE))
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.unlink()
    if damage != "deleted":
        file.write_bytes(data if damage == "flipped" else b"")
    [problem] = tb.verify().problems
    assert problem.what == "purged"


def test_what_another_machine_brings_back_is_named_and_can_be_purged_again(
    tb: Engine, workspace: Path, home: Path, tmp_path: Path
) -> None:
    (workspace / "a.env").write_bytes(SECRET)
    tb.checkpoint()
    store = tb._context.store
    other = tmp_path / "other.git"
    shutil.copytree(store.git_dir, other)
    purge(tb, "a.env")
    machine = store.machine or ""
    git(
        Path(store.git_dir),
        "fetch",
        "-q",
        str(other),
        f"refs/takeback/sessions/{machine}/*:{OTHER}*",
    )
    assert holding(home, VALUE) != []
    [problem] = tb.verify().problems
    assert problem.what == "a.env"
    assert purge(tb, "a.env").found == ()
    assert holding(home, VALUE) == []
    assert tb.verify().problems == ()


OTHER = "refs/takeback/sessions/another/"


def test_without_room_for_it_twice_nothing_happens(tb: Engine, workspace: Path, home: Path) -> None:
    (workspace / "a.env").write_bytes(SECRET)
    tb.checkpoint()
    before = dict(all_bytes(home))
    planned = tb.plan_purge("a.env")
    planned._upkeep = tb._upkeep().replace(disk_floor=1 << 60)
    with pytest.raises(WriteFailed, match=r"may need \d+ MB"):
        tb.purge(planned)
    assert not has_begun(tb._context.store)
    after = dict(all_bytes(home))
    assert {k: v for k, v in after.items() if "ledger" not in k and "lock" not in k} == {
        k: v for k, v in before.items() if "ledger" not in k and "lock" not in k
    }


def test_a_store_that_does_not_read_whole_is_not_purged(tb: Engine, workspace: Path) -> None:
    (workspace / "a.env").write_bytes(SECRET)
    (workspace / "other").write_text("other")
    made = tb.checkpoint().checkpoint
    lost = trees_of.lookup(tb._context.store, made.tree, b"other")
    assert lost is not None
    garble(tb._context.store, lost.oid)
    tb._context.store.reopen_packs()
    with pytest.raises(TakebackError):
        purge(tb, "a.env")
    assert not has_begun(tb._context.store)
    assert tb.cat("@", "a.env") == SECRET
