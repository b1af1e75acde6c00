"""Makes stores with long timelines, once, in the cache directory.

Every checkpoint is written through the store's own functions, but all of them into one pack and
without looking at the project: ten thousand turns played by an agent would take half an hour.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from bench.repositories import cache_directory
from takeback.app.engine import Engine
from takeback.git.objects import BLOB
from takeback.model.checkpoint import DIRECTORY, FILE, Checkpoint, Entry, Origin
from takeback.model.coverage import Coverage
from takeback.model.event import EDIT, ToolCall
from takeback.model.ids import SnapshotId, new_checkpoint_id
from takeback.model.turn import IDLE, PROMPT, RUNNING, TURN_END
from takeback.store import trees
from takeback.store.namespace import session_id, session_ref
from takeback.store.records import write_record
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.turn import CheckpointKind

_FORM = 4
"""The version of what is made here; a timeline of another version is made again."""
_FILES = 60
_TURNS_A_SESSION = 120
_BEGIN = 1_792_000_000.0
_AGENTS = ("claude", "codex", "pi", "opencode")
_ASKED = (
    "fix the login bug: a cookie that is older than a day is taken",
    "add tests for the parser and make the slow one faster",
    "rename the module, then update the documentation and the examples",
    "why does the build fail on a clean checkout? find it and mend it",
    "make the list scroll smoothly with ten thousand rows",
)


def timeline(turns: int) -> tuple[Path, dict[str, str]]:
    """Returns a project whose store has this many turns, and the environment to read it."""
    place = cache_directory() / f"{turns}-turns-{_FORM}"
    done = place / "made"
    if done.exists():
        return place / "project", _environ(place)
    shutil.rmtree(place, ignore_errors=True)
    made = new_timeline(place, turns)
    done.touch()
    return made


def new_timeline(
    place: Path, turns: int, *, a_session: int = _TURNS_A_SESSION
) -> tuple[Path, dict[str, str]]:
    """Makes such a project in a new directory, for a measurement that adds to it."""
    project, environ = place / "project", _environ(place)
    project.mkdir(parents=True)
    _make(project, environ, turns, a_session)
    # The ledger catches up once: we measure what has been opened before.
    subprocess.run(
        [sys.executable, "-I", "-m", "takeback", "log", "-n", "1"],
        cwd=project,
        env=environ,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return project, environ


def _environ(place: Path) -> dict[str, str]:
    return {**os.environ, "TAKEBACK_HOME": str(place / "home")}


def _make(project: Path, environ: dict[str, str], turns: int, a_session: int) -> None:
    for number in range(_FILES):
        path = project / f"src/part{number % 6}/file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value = {number}\n" * 20)
    with Engine.open(project, environ=environ) as tb:
        store = tb._context.store
        with store.locked("the bench", wait=10) as locked:
            maker = _Maker(PackSink(locked), project, turns)
            maker.play(turns, a_session)
            maker.sink.publish()
            for session, tip in maker.tips.items():
                store.refs.write(session_ref(locked.machine, session), tip, expect=None)
            Path(store.path("sequence")).write_text(f"{maker.sequence}\n")
        # As in any store that is in use, the files were looked at, and the stat cache has them.
        tb.checkpoint()


class _Maker:
    """Adds checkpoints to one pack, two per turn, session after session, some of them forked."""

    def __init__(self, sink: PackSink, project: Path, seed: int) -> None:
        self.sink = sink
        self.tips: dict[str, bytes] = {}
        self.sequence = 0
        self._project = project
        self._chance = random.Random(seed)
        self._time = _BEGIN
        self._coverage = sink.add(BLOB, Coverage().encode())
        self._files = {
            os.fsencode(path.relative_to(project)): Entry(
                FILE | 0o644, sink.add(BLOB, path.read_bytes())
            )
            for path in sorted(project.rglob("*.py"))
        }
        self._last: dict[str, Checkpoint] = {}

    def play(self, turns: int, a_session: int) -> None:
        for number in range(turns):
            session = number // a_session
            # Two sessions alternate for a while, so that there are lanes side by side.
            if number % a_session > a_session // 2 and number % 2 and session:
                session -= 1
            self._turn(session, number)

    def _turn(self, session: int, number: int) -> None:
        prompt = f"{self._chance.choice(_ASKED)} ({number + 1})"
        if self._chance.random() < 0.2:
            self._edit(self._chance.randrange(1, 3), number)
        self._checkpoint(session, PROMPT, prompt, ())
        edited = self._edit(self._chance.randrange(0, 6), number)
        tools = (ToolCall("Edit", EDIT, tuple(os.fsdecode(path) for path in edited)),)
        self._checkpoint(session, TURN_END, None, tools if edited else ())

    def _edit(self, count: int, number: int) -> list[bytes]:
        edited = self._chance.sample(sorted(self._files), count)
        for path in edited:
            lines = self._chance.randrange(1, 30)
            data = b"value = %d\n" % number * lines
            self._files[path] = Entry(FILE | 0o644, self.sink.add(BLOB, data))
        return edited

    def _checkpoint(
        self, session: int, kind: CheckpointKind, prompt: str | None, tools: tuple[ToolCall, ...]
    ) -> None:
        agent = _AGENTS[session % len(_AGENTS)]
        native = f"{session:04d}-bench"
        name = session_id(agent, native)
        before = self._last.get(name)
        origin = self._origin(session) if before is None else None
        turn = (before.turn or 0) if before is not None else 0
        self.sequence += 1
        self._time += self._chance.randrange(5, 200)
        snapshot = trees.build(self.sink, self._files)
        made = Checkpoint(
            id=new_checkpoint_id(),
            session=name,
            kind=kind,
            time=self._time,
            snapshot=SnapshotId(snapshot.hex()),
            commit=b"",
            complete=True,
            files=len(self._files),
            prompt=prompt,
            turn=turn + (kind == PROMPT),
            agent=agent,
            native=native,
            directory=str(self._project),
            turn_id=f"{native}-{turn + (kind == PROMPT)}",
            phase=RUNNING if kind == PROMPT else IDLE,
            tools=tools,
            origin=None if origin is None else Origin(origin.session, origin.id),
            sequence=self.sequence,
            machine=self.sink.locked.machine,
        )
        parent = before or origin
        commit = write_record(
            self.sink,
            {**made.encode(), "not_held": 0},
            parents=() if parent is None else (parent.commit,),
            time=made.time,
            message=f"{kind} {made.id}",
            entries=(
                (DIRECTORY, b"files", snapshot),
                (0o100644, b"coverage", self._coverage),
            ),
        )
        self._last[name] = made.replace(commit=commit)
        self.tips[name] = commit

    def _origin(self, session: int) -> Checkpoint | None:
        """Every third session was forked from the newest place of the one before it."""
        if session % 3 != 1:
            return None
        agent = _AGENTS[(session - 1) % len(_AGENTS)]
        return self._last.get(session_id(agent, f"{session - 1:04d}-bench"))
