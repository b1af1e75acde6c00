"""A conversation with an agent's extension over stdin and stdout, one JSON document a line.

    {"id": 1, "call": "event", "event": {...}}        ->  {"id": 1, "ok": true, "result": {...}}
    {"id": 2, "call": "rewind", "checkpoint": "x"}    ->  {"id": 2, "ok": false, "error": {...}}

For agents whose extensions live as long as the agent does: one process, so an event costs a
capture and no start of Python. The words are those of the command line (docs/scripting.md); what
is refused is refused here too, with the same code, and the extension shows the sentence.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib import import_module

from takeback import durable
from takeback.adapters import CONNECTED, adapter_named
from takeback.app import Takeback
from takeback.app.asking import refuse_pretence
from takeback.errors import (
    Bug,
    NoSuchCheckpoint,
    NotAWorkspace,
    TakebackError,
    UsageError,
)
from takeback.hearing import hear, unheard
from takeback.model import json_text
from takeback.model.event import cleaned
from takeback.model.policy import Overrides
from takeback.model.session import session_id
from takeback.words import answers, documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.ids import SessionId
    from takeback.model.operation import Operation
    from takeback.model.plan import Outcome, Plan
    from takeback.ports import Adapter

    Document = dict[str, Any]

_FLAGS = {
    "--allow-mass-delete": "mass_delete",
    "--during-git": "during_git",
    "--other-branch": "other_branch",
    "--during-turn": "during_turn",
    "--overwrite-others": "overwrite_others",
    "--keep-others": "keep_others",
}
_TURNS = 20
_PLANS = 10
_NOTHING: Document = {
    "checkpoint": None,
    "note": None,
    "waiting": False,
    "warning": None,
    "heard": False,
}


def main(agent: str, *, by_launcher: bool = False) -> int:
    """Answers until stdin ends; returns 0."""
    durable.unmask_owner()
    if sys.stdin is None or sys.stdout is None:  # closed by the caller: nobody asks
        return 0
    try:
        desk = Desk(adapter_named(agent), os.getcwd(), by_launcher=by_launcher)
        for line in sys.stdin.buffer:
            if line.strip():
                sys.stdout.write(json_text.dumps(desk.answer(line)) + "\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        return 0
    except OSError:  # nobody reads the answers any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor the last of them
    return 0


class Desk:
    """Takes requests of one agent, each with the workspace as it is then."""

    def __init__(self, adapter: Adapter, directory: str, *, by_launcher: bool = True) -> None:
        self._adapter = adapter
        self._by_launcher = by_launcher
        self._directory = directory
        self._plans: dict[int, Plan] = {}
        self._number = 0
        self._calls: dict[str, Callable[[Document], Document]] = {
            "event": self._event,
            "status": self._status,
            "counts": self._counts,
            "log": self._log,
            "turns": self._turns,
            "at": self._place,
            "plan": self._plan,
            "plan_undo": lambda r: self._plan_step(r, "undo"),
            "plan_redo": lambda r: self._plan_step(r, "redo"),
            "rewind": self._rewind,
            "fork": self._fork,
            "undo": lambda r: self._step(r, "undo"),
            "redo": lambda r: self._step(r, "redo"),
            "label": self._label,
            "pin": self._pin,
        }

    def answer(self, line: bytes) -> Document:
        """Returns the answer to one line; every failure is an answer too."""
        number: Any = None
        try:
            request = _request(line)
            number = request.get("id")
            call = self._calls.get(str(request.get("call")))
            if call is None:
                names = ", ".join(self._calls)
                raise UsageError(f"there is no call {request.get('call')!r}", hint=names)
            return {"id": number, "ok": True, "result": call(request)}
        except TakebackError as error:
            said = {"code": error.code, "message": error.message, "hint": error.hint}
            said["flag"] = getattr(error, "flag", "")
            return {"id": number, "ok": False, "error": said}
        except Exception as error:  # a bug of ours must not end the agent's extension
            bug = Bug(error)
            said = {"code": bug.code, "message": bug.message, "hint": bug.hint, "flag": ""}
            return {"id": number, "ok": False, "error": said}

    @contextmanager
    def _at(self, request: Mapping[str, Any], *, create: bool = True) -> Iterator[Takeback]:
        """Opens the workspace anew: others change settings and stores meanwhile."""
        directory = request.get("cwd") or self._directory
        if not isinstance(directory, str):
            raise UsageError("cwd is a directory")
        holder = f"extension of {self._adapter.name}"
        with Takeback.open(directory, create=create, holder=holder, by_agent=True) as tb:
            yield tb

    # -- what the agent tells

    def _event(self, request: Document) -> Document:
        payload = request.get("event")
        if not isinstance(payload, dict):
            raise UsageError("an event is a JSON object")
        try:
            event = self._adapter.parse(payload, os.environ)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if event is None or not Takeback.wants(event.directory):
            return _NOTHING
        event = cleaned(event)
        if not self._by_launcher and event.agent in CONNECTED:
            refuse_pretence(event, os.environ)
        try:
            with self._at({"cwd": event.directory}) as tb:
                if not tb.hears_agents:
                    return _NOTHING
                received = hear(tb, event)
        except TakebackError as error:
            warning = unheard(event, error)
            if not warning:
                raise
            return {**_NOTHING, "warning": warning}
        checkpoint = received.checkpoint
        return {
            "checkpoint": None if checkpoint is None else checkpoint.id,
            "note": received.note,
            "waiting": received.waiting,
            "warning": received.warning,
            "heard": True,
        }

    # -- what the agent's person asks

    def _status(self, request: Document) -> Document:
        with self._at(request) as tb:
            return documents.status(tb.status(look=True))

    def _counts(self, request: Document) -> Document:
        """Says in one line how much is kept; nothing where nothing is to be kept."""
        if not Takeback.wants(str(request.get("cwd") or self._directory)):
            return answers.counts(None)
        try:
            with self._at(request, create=False) as tb:
                return answers.counts(tb.status() if tb.hears_agents else None)
        except NotAWorkspace:
            return answers.counts(None)

    def _log(self, request: Document) -> Document:
        limit = request.get("limit")
        with self._at(request) as tb:
            entries = tb.checkpoints(
                session=self._session(request), limit=limit if isinstance(limit, int) else -1
            )
            return {"entries": [documents.timeline_entry(entry) for entry in entries]}

    def _turns(self, request: Document) -> Document:
        """Returns the newest turns of a session's line, each with a line of words."""
        session = self._session(request)
        limit = request.get("limit")
        most = limit if isinstance(limit, int) else _TURNS
        found = []
        with self._at(request) as tb:
            newest = next((s.turns for s in tb.sessions() if s.session.id == session), 0)
            for number in range(newest, max(0, newest - most), -1):
                try:
                    checkpoint = tb.find(f"{session}/turn:{number}")
                except NoSuchCheckpoint:
                    continue
                found.append(answers.place(tb.show(checkpoint).entry))
        return {"turns": found}

    def _place(self, request: Document) -> Document:
        """Finds the checkpoint at an entry of the agent's own tree, or the nearest before it.

        Asked by ``entry`` and those ``before`` it; or by a ``path`` of whole entries to the root,
        for agents whose adapter knows what each kind of entry stands for.
        """
        session = self._session(request)
        if session is None:
            raise UsageError("a place is asked for by session and entry")
        with self._at(request) as tb:
            if "path" in request:
                exact, nearest = self._on_path(tb, session, request)
            else:
                exact, nearest = _by_ids(tb, session, request)
            return {
                "exact": None if exact is None else answers.place(tb.show(exact).entry),
                "nearest": None if nearest is None else answers.place(tb.show(nearest).entry),
            }

    def _on_path(
        self, tb: Takeback, session: SessionId, request: Document
    ) -> tuple[Checkpoint | None, Checkpoint | None]:
        nodes = request["path"]
        path = [n for n in nodes if isinstance(n, dict)] if isinstance(nodes, list) else []
        try:
            find = import_module(f"takeback.adapters.{self._adapter.name}.places").place
        except ModuleNotFoundError:
            raise UsageError(f"{self._adapter.name} has no tree; ask by entry") from None
        parents = {entry.session.id: entry.session.parent for entry in tb.sessions()}
        checkpoints: list[Checkpoint] = []
        here: SessionId | None = session
        while here is not None and here in parents:
            found = tb.checkpoints(session=here, everything=True)
            checkpoints += [entry.checkpoint for entry in found]
            here = parents.pop(here)
        place = find(path, checkpoints)
        return place.exact, place.nearest

    def _plan(self, request: Document) -> Document:
        with self._at(request) as tb:
            made = tb.plan(
                _needed(request, "checkpoint"),
                scope=_text(request, "scope"),
                overrides=_overrides(request),
            )
        return self._planned("rewind", made, None)

    def _plan_step(self, request: Document, kind: str) -> Document:
        overrides = _overrides(request)
        with self._at(request) as tb:
            step = tb.next_undo() if kind == "undo" else tb.next_redo()
            plan = tb.plan_undo if kind == "undo" else tb.plan_redo
            return self._planned(kind, plan(overrides=overrides), step.operation)

    def _planned(self, kind: str, made: Plan, of: Operation | None) -> Document:
        self._number += 1
        self._plans[self._number] = made
        self._plans.pop(self._number - _PLANS, None)
        return answers.plan(kind, made, of, self._number)

    def _rewind(self, request: Document) -> Document:
        with self._at(request) as tb:
            done = tb.rewind(
                _needed(request, "checkpoint"),
                scope=_text(request, "scope"),
                overrides=_overrides(request),
                shown=self._shown(request),
            )
            return _done(tb, done, None)

    def _fork(self, request: Document) -> Document:
        with self._at(request) as tb:
            done = tb.fork(
                _needed(request, "checkpoint"),
                files=request.get("files") is True,
                overrides=_overrides(request),
                shown=self._shown(request),
            )
            return _done(tb, done, None)

    def _step(self, request: Document, kind: str) -> Document:
        overrides, shown = _overrides(request), self._shown(request)
        with self._at(request) as tb:
            step = tb.next_undo() if kind == "undo" else tb.next_redo()
            go = tb.undo if kind == "undo" else tb.redo
            return _done(tb, go(overrides=overrides, shown=shown), step.operation)

    def _shown(self, request: Document) -> Plan | None:
        """Returns the plan that the person has agreed to, if the request names one."""
        number = request.get("plan")
        return self._plans.get(number) if isinstance(number, int) else None

    def _label(self, request: Document) -> Document:
        with self._at(request) as tb:
            labelled = tb.label(_needed(request, "checkpoint"), _text(request, "label"))
        return {"id": labelled.id, "label": labelled.label}

    def _pin(self, request: Document) -> Document:
        """Gives the place of an entry the agent's own label for it, or takes that off.

        ``was`` is the label that it had. A name that is taken or no label gets the entry's id.
        """
        session = self._session(request)
        if session is None:
            raise UsageError("a place is asked for by session and entry")
        with self._at(request) as tb:
            exact, nearest = self._on_path(tb, session, request)
            found = exact or nearest
            if found is None:
                return {"id": None, "label": None}
            mark = next((str(n.get("id")) for n in request["path"] if isinstance(n, dict)), "")
            wanted = _pin_names(_text(request, "label"), mark)
            if not wanted:
                old = _pin_names(_text(request, "was"), mark)
                if found.label in old:
                    found = tb.label(found, None)
                return {"id": found.id, "label": found.label}
            for name in wanted[:-1]:
                try:
                    return {"id": found.id, "label": tb.label(found, name).label}
                except UsageError:
                    continue
            return {"id": found.id, "label": tb.label(found, wanted[-1]).label}

    def _session(self, request: Document) -> SessionId | None:
        native = _text(request, "session")
        return None if native is None else session_id(self._adapter.name, native)


def _by_ids(
    tb: Takeback, session: str, request: Document
) -> tuple[Checkpoint | None, Checkpoint | None]:
    entry = _needed(request, "entry")
    before = [e for e in request.get("before", ()) if isinstance(e, str)]
    found = tb.places(session, [entry, *before])
    return found.get(entry), next((found[n] for n in (entry, *before) if n in found), None)


def _done(tb: Takeback, outcome: Outcome, of: Operation | None) -> Document:
    wanted = outcome.session
    found = next((s.session for s in tb.sessions() if s.session.id == wanted), None)
    return answers.outcome(outcome, of, None if found is None else found.transcript)


def _pin_names(label: str | None, mark: str) -> list[str]:
    clean = " ".join((label or "").replace("/", "-").split())
    return [clean, f"{clean} ({mark})", f"pi {clean} ({mark})"] if clean else []


def _request(line: bytes) -> Document:
    try:
        request = json_text.loads(line.decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not isinstance(request, dict):
        raise UsageError("a request is a JSON object")
    return request


def _text(request: Document, name: str) -> str | None:
    value = request.get(name)
    return value if isinstance(value, str) else None


def _needed(request: Document, name: str) -> str:
    value = _text(request, name)
    if value is None:
        raise UsageError(f"{name} is missing")
    return value


def _overrides(request: Document) -> Overrides:
    """Returns what the person waives, by the flags of the command line or by name."""
    given = request.get("overrides")
    named = given if isinstance(given, list) else []
    wanted = {_FLAGS.get(str(name), str(name)) for name in named}
    return Overrides(**{name: True for name in _FLAGS.values() if name in wanted})
