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

from takeback.adapters import adapter_named
from takeback.app import Takeback
from takeback.errors import TakebackError, UsageError
from takeback.model import json_text
from takeback.model.event import cleaned
from takeback.model.policy import Overrides
from takeback.model.session import session_id
from takeback.words import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from takeback.ports import Adapter

    Document = dict[str, Any]

_FLAGS = (
    "mass_delete",
    "during_git",
    "other_branch",
    "during_turn",
    "overwrite_others",
    "keep_others",
)


def main(agent: str) -> int:
    """Answers until stdin ends; returns 0."""
    desk = Desk(adapter_named(agent), os.getcwd())
    try:
        for line in sys.stdin.buffer:
            if line.strip():
                sys.stdout.write(json_text.dumps(desk.answer(line)) + "\n")
                sys.stdout.flush()
    except (BrokenPipeError, KeyboardInterrupt):
        return 0
    finally:
        desk.close()
    return 0


class Desk:
    """Takes requests of one agent; keeps the workspaces open that they are about."""

    def __init__(self, adapter: Adapter, directory: str) -> None:
        self._adapter = adapter
        self._directory = directory
        self._open: dict[str, Takeback] = {}
        self._calls: dict[str, Callable[[Document], Document]] = {
            "event": self._event,
            "status": lambda r: documents.status(self._at(r).status()),
            "log": self._log,
            "at": self._place,
            "plan": self._plan,
            "rewind": self._rewind,
            "fork": self._fork,
            "undo": lambda r: documents.outcome(self._at(r).undo(overrides=_overrides(r))),
            "redo": lambda r: documents.outcome(self._at(r).redo(overrides=_overrides(r))),
            "plan_undo": lambda r: documents.plan(self._at(r).plan_undo(overrides=_overrides(r))),
            "label": self._label,
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
            text = f"{type(error).__name__}: {error}"
            return {
                "id": number,
                "ok": False,
                "error": {"code": "bug", "message": text, "hint": "", "flag": ""},
            }

    def close(self) -> None:
        for tb in self._open.values():
            tb.close()

    def _at(self, request: Mapping[str, Any]) -> Takeback:
        directory = request.get("cwd") or self._directory
        if not isinstance(directory, str):
            raise UsageError("cwd is a directory")
        if directory not in self._open:
            self._open[directory] = Takeback.open(
                directory, holder=f"extension of {self._adapter.name}"
            )
        return self._open[directory]

    def _event(self, request: Document) -> Document:
        payload = request.get("event")
        if not isinstance(payload, dict):
            raise UsageError("an event is a JSON object")
        try:
            event = self._adapter.parse(payload, os.environ)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if event is None:
            return {"checkpoint": None, "note": None, "waiting": False}
        event = cleaned(event)
        tb = self._at({"cwd": event.directory})
        received = tb.receive(event)
        tb.keep_house()
        checkpoint = received.checkpoint
        return {
            "checkpoint": None if checkpoint is None else checkpoint.id,
            "note": received.note,
            "waiting": received.waiting,
        }

    def _log(self, request: Document) -> Document:
        limit = request.get("limit")
        tb = self._at(request)
        entries = tb.checkpoints(
            session=self._session(request), limit=limit if isinstance(limit, int) else -1
        )
        return {"entries": [documents.timeline_entry(entry) for entry in entries]}

    def _place(self, request: Document) -> Document:
        """Finds the checkpoint at an entry of the agent's own tree, or the nearest before it."""
        entry, session = request.get("entry"), self._session(request)
        if not isinstance(entry, str) or session is None:
            raise UsageError("a place is asked for by session and entry")
        before = [e for e in request.get("before", ()) if isinstance(e, str)]
        tb = self._at(request)
        found = {
            name: documents.timeline_entry(tb.show(checkpoint).entry)
            for name, checkpoint in tb.places(session, [entry, *before]).items()
        }
        nearest = next((found[name] for name in (entry, *before) if name in found), None)
        return {"exact": found.get(entry), "nearest": nearest}

    def _plan(self, request: Document) -> Document:
        scope = _text(request, "scope")
        target = _needed(request, "checkpoint")
        made = self._at(request).plan(target, scope=scope, overrides=_overrides(request))
        return documents.plan(made)

    def _rewind(self, request: Document) -> Document:
        scope = _text(request, "scope")
        target = _needed(request, "checkpoint")
        done = self._at(request).rewind(target, scope=scope, overrides=_overrides(request))
        return documents.outcome(done)

    def _fork(self, request: Document) -> Document:
        done = self._at(request).fork(
            _needed(request, "checkpoint"),
            files=request.get("files") is True,
            overrides=_overrides(request),
        )
        return documents.outcome(done)

    def _label(self, request: Document) -> Document:
        tb = self._at(request)
        labelled = tb.label(_needed(request, "checkpoint"), _text(request, "label"))
        return {"id": labelled.id, "label": labelled.label}

    def _session(self, request: Document) -> str | None:
        native = _text(request, "session")
        return None if native is None else session_id(self._adapter.name, native)


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
    given = request.get("overrides")
    wanted = set(given) if isinstance(given, list) else set()
    return Overrides(**{name: True for name in _FLAGS if name in wanted})
