"""A purge killed at every durable step has not begun or is finished; captures go on beside it."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.errors import NoSuchCheckpoint
from tests.crash.world import World
from tests.support.engine import TestClock
from tests.support.faults import Faults, start
from tests.support.inflated import holding
from tests.support.lanes import shares

VALUE = b"hunter2-is-my-password"
SECRET = b"TOKEN=" + VALUE + b"\n"
TURNS = 3


def prepared(base: Path) -> World:
    """An agent had some turns with a secret, a fork, something in the trash; another store."""
    world = World(base)
    (world.root / ".gitignore").write_text("*.key\n")
    (world.root / "saved.key").write_bytes(SECRET)
    with opened(world) as tb:
        session = tb.session(agent="mine", native="s")
        for number in range(1, TURNS + 1):
            said = b'{"text": "it is ' + VALUE + b'"}\n'
            with session.turn(f"turn {number}: {VALUE.decode()}", conversation=said * number):
                (world.root / f"f{number}").write_bytes(b"%d" % number * 500)
                (world.root / "secret.env").write_bytes(SECRET + b"%d" % number)
        tb.label("turn:2.end", VALUE.decode())
        tb.fork("turn:2.end")
        tb.checkpoint()
        tb.prune(tb.plan_prune(["mine-s/turn:1"]))
        tb.rewind("mine-s/turn:2.end", scope="files")
        tb.undo()
    other = world.base / "other"
    other.mkdir()
    (other / "copied.env").write_bytes(SECRET + b"2")
    (other / "plain").write_bytes(b"plain")
    with Engine.open(other, environ=world.environ, clock=TestClock()) as tb:
        tb.checkpoint(message=VALUE.decode())
    told = world.base / "told"
    told.mkdir()
    with Engine.open(told, environ=world.environ, clock=TestClock()) as tb:
        said = b'{"text": "' + b"".join(b"\\u%04x" % byte for byte in VALUE) + b'"}\n'
        with tb.session(agent="mine", native="s").turn("only said", conversation=said):
            (told / "plain").write_bytes(b"plain")
    return world


def opened(world: World) -> Engine:
    return Engine.open(world.root, environ=world.environ, clock=TestClock())


def purge(world: World) -> int:
    with opened(world) as tb:
        made = tb.purge(tb.plan_purge("secret.env", "saved.key"))
        assert (made.found, made.unread) == ((), ())
        return len(made.stores)


def home_of(world: World) -> Path:
    return Path(world.environ["TAKEBACK_HOME"])


def is_purged(world: World) -> bool:
    """Everything else reads and is as it was; tells whether the secret is gone, all of it."""
    with opened(world) as tb:
        assert tb.verify(read_data=True).problems == ()
        turns = [e.turn for e in tb.checkpoints(session="mine-s") if e.turn is not None]
        assert {turn.number for turn in turns} == {1, 2, 3}
        for number in (2, 3):
            data = tb.cat(f"mine-s/turn:{number}.end", f"{world.root}/f{number}")
            assert data == b"%d" % number * 500
        try:
            data = tb.cat("mine-s/turn:3.end", f"{world.root}/secret.env")
        except NoSuchCheckpoint:
            gone = True
        else:
            gone = False
            assert data == SECRET + b"3"
        [label] = [e.checkpoint.label for e in tb.checkpoints() if e.checkpoint.label]
        assert label == ("*" * len(VALUE) if gone else VALUE.decode())
    for name in ("other", "told"):
        with Engine.open(world.base / name, environ=world.environ, clock=TestClock()) as tb:
            assert tb.verify(read_data=True).problems == ()
            assert tb.cat("@", f"{world.base}/{name}/plain") == b"plain"
    if gone:
        assert holding(home_of(world), VALUE, b"\\u%04x" % VALUE[0]) == []
    return gone


@pytest.mark.parametrize("fault", [0, errno.ENOSPC])
@shares(40, long=3)
def test_a_purge_disturbed_at_each_step(tmp_path: Path, share: int, fault: int) -> None:
    for at in range(1 + share, 10_000, 40):
        world = prepared(tmp_path / str(at))
        ran = world.run(partial(purge, world), Faults(at, errno=fault, sticky=True))
        assert ran.killed or ran.done or ran.clean, ran.text
        if not is_purged(world):
            assert not ran.done
            purge(world)
        assert is_purged(world)
        with opened(world) as tb:
            tb.restore()
            tb.checkpoint()
        assert is_purged(world)
        world.remove()
        if len(ran.steps) < at and not ran.killed:
            return


def capture_often(world: World, number: int, times: int) -> list[str]:
    made: list[str] = []
    with Engine.open(world.root, environ=world.environ) as tb:
        for count in range(times):
            (world.root / f"w{number}").write_text(f"{number} {count}")
            (world.root / f"copy{number}").write_bytes(SECRET + b"3")
            made.append(tb.checkpoint().checkpoint.id)
    return made


@pytest.mark.parametrize(
    ("writers", "times"), [(2, 4), pytest.param(4, 12, marks=pytest.mark.long)]
)
def test_a_purge_beside_captures_loses_nothing_and_leaves_nothing(
    tmp_path: Path, writers: int, times: int
) -> None:
    world = prepared(tmp_path)
    running = [start(partial(capture_often, world, number, times)) for number in range(writers)]
    purger = start(partial(purge, world))
    made = [one.outcome() for one in running]
    done = purger.outcome()
    assert done.done, done.text
    assert all(one.done for one in made), [one.text for one in made]
    with opened(world) as tb:
        known = {entry.checkpoint.id for entry in tb.checkpoints(everything=True)}
        assert {id for one in made for id in one.answer} <= known
    assert is_purged(world)
