"""StdioServer: answers the requests of one agent's extension."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import count

from takeback import prompt_command
from takeback.adapters import entry_finder
from takeback.app import proposal as proposals
from takeback.app.border import bug
from takeback.app.engine import Engine
from takeback.app.proposal import Agreement, Agreements
from takeback.errors import NoSuchCheckpoint, NotAWorkspace, TakebackError, UsageError
from takeback.events import Heard, Speaker, do_later, hear
from takeback.gate.teller import Above, Teller
from takeback.model.operation import REDO, UNDO
from takeback.remembered import Remembered
from takeback.stdio import proposed, requests
from takeback.store.namespace import session_id
from takeback.words import choices, documents, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.event import AgentEvent
    from takeback.model.ids import SessionId
    from takeback.model.operation import Outcome, StepKind
    from takeback.ports import Adapter

    Document = dict[str, Any]

_PLANS, _TURNS = 10, 20
_SESSIONS_KEPT = 1_000
_FOR_ALL = frozenset(("event", "recorded", "status", "counts", "log", "turns", "at"))
"""What a model may ask, too: it looks, or is a claim that is looked up by itself."""
_LONGEST_LATER = 1.0
"""How many seconds a request may have to wait for what an end of a turn leaves to be done."""


class StdioServer:
    """Answers requests of one agent, opening the workspace afresh for each."""

    def __init__(self, adapter: Adapter, directory: str) -> None:
        self._adapter = adapter
        self._directory = directory
        self._holder = f"extension of {adapter.name}"
        self._speaker = Speaker(adapter.name, self._holder, directory, follows=True)
        self._heard = Heard()
        self._agreements = Agreements(_PLANS, count(1).__next__)
        self._agents: Remembered[str, str] = Remembered(_SESSIONS_KEPT)
        """Sessions that were active, with what their host calls itself."""
        self._calls: dict[str, Callable[[Document], Document]] = {
            "event": self._event,
            "command": self._command,
            "recorded": self._recorded,
            "status": self._status,
            "counts": self._counts,
            "log": self._log,
            "turns": self._turns,
            "at": self._place,
            "plan": self._plan,
            "plan_revert": self._plan_revert,
            "plan_undo": lambda r: self._plan_step(r, UNDO),
            "plan_redo": lambda r: self._plan_step(r, REDO),
            "rewind": self._rewind,
            "revert": self._revert,
            "fork": self._fork,
            "undo": lambda r: self._step(r, UNDO),
            "redo": lambda r: self._step(r, REDO),
            "label": self._label,
            "pin": self._pin,
        }

    def answer(self, line: bytes) -> Document:
        """Returns the answer to one line; every failure is an answer too."""
        request: Document = {}
        try:
            request = requests.read(line)
            call = self._calls.get(str(request.get("call")))
            if call is None:
                names = ", ".join(self._calls)
                raise UsageError(f"there is no call {request.get('call')!r}", hint=names)
            if request["call"] not in _FOR_ALL:
                self._told().refuse_model()
            return {"id": request.get("id"), "ok": True, "result": call(request)}
        except TakebackError as error:
            return self._failed(request, error)
        except Exception as error:  # a bug of ours must not end the agent's extension
            return self._failed(request, bug(error))

    def do_later(self) -> None:
        """Does what the last event left to be done, as nobody asks for anything just now."""
        heard, self._heard = self._heard, Heard()
        do_later(self._speaker, heard, longest=_LONGEST_LATER)

    def _failed(self, request: Document, error: TakebackError) -> Document:
        """Returns an error as an answer."""
        said = choices.document(choices.said(error))
        return {"id": request.get("id"), "ok": False, "error": {"flag": "", **said}}

    def _told(self) -> Teller:
        """Returns who speaks here: the agent, or a tool of its model."""
        return Teller.of(Above.of(), None, os.environ)

    @contextmanager
    def _at(self, request: Mapping[str, Any], *, create: bool = True) -> Iterator[Engine]:
        """Opens the workspace afresh: others may have changed settings and stores meanwhile."""
        directory = request.get("cwd") or self._directory
        if not isinstance(directory, str):
            raise UsageError("cwd is a directory")
        told = self._told()
        with Engine.open(
            directory,
            create=create and told.model is None,
            holder=self._holder,
            asker=told.asker(),
            bounded=True,
        ) as tb:
            yield tb

    # -- what the agent tells

    def _event(self, request: Document) -> Document:
        heard = self._heard = hear(self._speaker, lambda: request.get("event"))
        if heard.failure is not None:
            raise heard.failure
        event = heard.event
        if event is not None and event.agent != self._adapter.name:
            self._agents.add(event.session, event.agent)
        return {
            "checkpoint": heard.checkpoint,
            "note": heard.note,
            "waiting": heard.waiting,
            "warning": heard.warning,
            "answer": heard.answer,
            "outcome": None if heard.outcome is None else self._continued(event, heard.outcome),
            "heard": heard.recorded,
        }

    def _recorded(self, request: Document) -> Document:
        """Returns the agents that a session was recorded under: one behind a proxy may be two."""
        native = requests.needed(request, "session")
        with self._at(request) as tb:
            known = tb.known_sessions()
        return {"agents": sorted({str(one.agent) for one in known if one.native == native})}

    def _continued(self, event: AgentEvent | None, outcome: Outcome) -> Document:
        """Returns what was done for a person who asked for it in a prompt."""
        where = {} if event is None else {"cwd": event.directory}
        with self._at(where) as tb:
            return _continued(tb, outcome)

    # -- what the agent's person asks

    def _command(self, request: Document) -> Document:
        """Answers a prompt that is meant for takeback, for a host that sees prompts first."""
        command, words = requests.needed(request, "command"), requests.texts(request, "words")
        with self._at(request) as tb:
            said = prompt_command.answer(
                tb,
                self._session(request) or "",
                words,
                command=command,
                follows=request.get("follows") is True,
            )
            outcome = None if said.outcome is None else _continued(tb, said.outcome)
        return {"answer": said.text, "outcome": outcome}

    def _status(self, request: Document) -> Document:
        with self._at(request) as tb:
            return status.status(tb.status(look=True))

    def _counts(self, request: Document) -> Document:
        """Says in one line how much is kept; nothing if nothing is to be kept."""
        if not Engine.wants(str(request.get("cwd") or self._directory)):
            return choices.counts(None)
        try:
            with self._at(request, create=False) as tb:
                return choices.counts(tb.status() if tb.hears_agents else None)
        except NotAWorkspace:
            return choices.counts(None)

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
        with self._at(request) as tb:
            try:
                found = tb.turns_behind(session or "", limit=most).entries
            except NoSuchCheckpoint:  # it has no turn yet
                found = ()
        return {"turns": [choices.place(one) for one in found if one.turn is not None]}

    def _place(self, request: Document) -> Document:
        """Finds the checkpoint at an entry of the agent's own tree, or the nearest before it.

        The request has an ``entry`` and those ``before`` it; or a ``path`` of whole entries to the
        root, for agents whose adapter knows what each kind of entry means.
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
                "exact": None if exact is None else choices.place(tb.show(exact).entry),
                "nearest": None if nearest is None else choices.place(tb.show(nearest).entry),
            }

    def _on_path(
        self, tb: Engine, session: SessionId, request: Document
    ) -> tuple[Checkpoint | None, Checkpoint | None]:
        nodes = request["path"]
        path = [n for n in nodes if isinstance(n, dict)] if isinstance(nodes, list) else []
        find = entry_finder(self._adapter.name)
        if find is None:
            raise UsageError(f"{self._adapter.name} has no tree; ask by entry")
        parents = {entry.session.id: entry.session.parent for entry in tb.sessions()}
        checkpoints: list[Checkpoint] = []
        here: SessionId | None = session
        while here is not None and here in parents:
            found = tb.checkpoints(session=here, everything=True)
            checkpoints += [entry.checkpoint for entry in found]
            here = parents.pop(here)
        match = find(path, checkpoints)
        return match.exact, match.nearest

    def _plan(self, request: Document) -> Document:
        with self._at(request) as tb:
            return self._planned(tb, proposed.rewind(tb, request), request)

    def _plan_revert(self, request: Document) -> Document:
        with self._at(request) as tb:
            reverting = proposed.revert(tb, request, self._session(request))
            return self._planned(tb, reverting, request)

    def _plan_step(self, request: Document, kind: StepKind) -> Document:
        with self._at(request) as tb:
            return self._planned(tb, proposals.next_step(tb, kind), request)

    def _planned(self, tb: Engine, proposal: Proposal, request: Document) -> Document:
        plan = proposal.plan(tb, requests.overrides(request))
        number = self._agreements.remember(Agreement(proposal, plan))
        return {**choices.plan(proposal, plan), "plan": number}

    def _rewind(self, request: Document) -> Document:
        with self._at(request) as tb:
            return self._done(tb, proposed.rewind(tb, request), request)

    def _revert(self, request: Document) -> Document:
        with self._at(request) as tb:
            return self._done(tb, proposed.revert(tb, request, self._session(request)), request)

    def _fork(self, request: Document) -> Document:
        with self._at(request) as tb:
            return self._done(tb, proposed.fork(tb, request), request)

    def _step(self, request: Document, kind: StepKind) -> Document:
        with self._at(request) as tb:
            proposals.recover_before(tb, kind)
            return self._done(tb, proposals.next_step(tb, kind), request)

    def _done(self, tb: Engine, proposal: Proposal, request: Document) -> Document:
        shown = self._agreements.plan(request.get("plan"), proposal)
        outcome = proposal.carry_out(tb, requests.overrides(request), shown=shown)
        command = requests.text(request, "command") or "takeback"
        return choices.outcome(outcome, proposal.of, _transcript(tb, outcome), command)

    def _label(self, request: Document) -> Document:
        with self._at(request) as tb:
            name = requests.needed(request, "checkpoint")
            labelled = tb.label(name, requests.text(request, "label"))
        return {"id": labelled.id, "label": labelled.label}

    def _pin(self, request: Document) -> Document:
        """Gives the place of an entry the agent's own label for it, or removes that.

        ``was`` is the label that it had. A name that is taken, or not a valid label, gets the
        entry's id.
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
            wanted = _pin_names(requests.text(request, "label"), mark)
            if not wanted:
                old = _pin_names(requests.text(request, "was"), mark)
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
        """Returns the session named by the agent's own id.

        A custom host goes by the name that its events, or the request, give it.
        """
        native = requests.text(request, "session")
        if native is None:
            return None
        known = self._agents.get(native) or self._adapter.name
        return session_id(requests.text(request, "agent") or known, native)


def _continued(tb: Engine, outcome: Outcome) -> Document:
    return choices.continued(outcome, _transcript(tb, outcome))


def _transcript(tb: Engine, outcome: Outcome) -> str | None:
    """Returns the file of the session that goes on, if it has one."""
    sessions = (entry.session for entry in tb.sessions())
    return next((one.transcript for one in sessions if one.id == outcome.session), None)


def _by_ids(
    tb: Engine, session: str, request: Document
) -> tuple[Checkpoint | None, Checkpoint | None]:
    entry = requests.needed(request, "entry")
    before = [e for e in request.get("before", ()) if isinstance(e, str)]
    found = tb.places(session, [entry, *before])
    return found.get(entry), next((found[n] for n in (entry, *before) if n in found), None)


def _pin_names(label: str | None, mark: str) -> list[str]:
    clean = " ".join((label or "").replace("/", "-").split())
    return [clean, f"{clean} ({mark})", f"pi {clean} ({mark})"] if clean else []
