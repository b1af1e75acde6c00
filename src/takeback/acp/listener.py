"""LineListener: hears what passes between editor and agent, and has it recorded.

session/prompt              waits until the files before the turn are kept
tool_call_update, ended     the end of a round; nobody waits
answer to session/prompt    waits until the files after the turn are kept
/takeback ...               does not reach the agent: it is answered here
"""

from __future__ import annotations

import os

from takeback.acp import messages
from takeback.acp.recorder import EVENT
from takeback.acp.sessions import EditorSession, nothing
from takeback.adapters import fields
from takeback.model import event as events
from takeback.model.value import Value
from takeback.prompt_command import words_for
from takeback.store.notes import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from takeback.acp.recorder import Recorder
    from takeback.acp.sessions import ProxiedAgent

    Document = dict[str, Any]
    LetGo = Callable[[bytes], None]

COMMAND = "/takeback"
_OFFERED = {
    "name": COMMAND.removeprefix("/"),
    "description": "The newest turns, and going back: files as they were before one of them",
    "input": {"hint": "3 | 3 yes | revert 3 yes | undo yes | status | help"},
}
_SILENT = "takeback did not answer. More: takeback status"
_UNHEARD = "its own hooks did not tell its turns, although they are set up; the proxy does"


class _Asked(Value):
    """A request of the editor that the agent has not answered yet."""

    request: object
    method: str
    session: str
    directory: str


class LineListener:
    """Looks at each line; ``let_go`` is called with it, once, when it may go on.

    ``say`` sends the editor a line of our own.
    """

    def __init__(
        self, agent: ProxiedAgent, recorder: Recorder, say: LetGo, environ: Mapping[str, str]
    ) -> None:
        self._agent, self._recorder, self._say, self._environ = agent, recorder, say, environ
        self._asked: dict[str, _Asked] = {}
        self._sessions: dict[str, EditorSession] = {}
        self._offered: set[str] = set()
        """Sessions whose editor knows the command."""

    # -- what the editor says

    def from_editor(self, line: bytes, let_go: LetGo) -> None:
        message = messages.read(line)
        method = None if message is None else fields.text(message, "method")
        if message is None or method is None or "id" not in message:
            let_go(line)
            return
        params = fields.table(message, "params")
        asked = _Asked(
            message["id"],
            method,
            fields.text(params, "sessionId") or "",
            fields.text(params, "cwd") or "",
        )
        session = self._sessions.get(asked.session)
        if method != messages.PROMPT or session is None:
            self._asked[_key(asked.request)] = asked
            let_go(line)
            return
        if session.is_asked_about:
            session.then = lambda: self.from_editor(line, let_go)
            return
        text = messages.prompt_text(params.get("prompt"))
        words = words_for(COMMAND, text)
        if words is not None:
            let_go(b"")
            self._command(asked.request, session, words)
            return
        steers = self._is_at_work(session)
        self._asked[_key(asked.request)] = asked
        if not session.is_ours:
            let_go(line)
            return
        own_id = os.urandom(8).hex()  # so that one that is told twice is one
        event = session.event(events.PROMPT, turn=own_id, prompt=text, steer=steers)
        self._record(session, event, lambda heard: let_go(self._prompt(session, line, heard)))

    def _is_at_work(self, session: EditorSession) -> bool:
        """Tells whether the agent has a prompt of a session that it has not done with."""
        open_ones = (one for one in self._asked.values() if one.session == session.native)
        return any(one.method == messages.PROMPT for one in open_ones)

    def _prompt(self, session: EditorSession, line: bytes, heard: Document) -> bytes:
        """Returns a prompt as it goes to the agent, now that the files before it are kept."""
        warning, note = fields.text(heard, "warning"), fields.text(heard, "note")
        if warning is not None:
            self._say(messages.said(session.native, messages.fenced(warning)))
        message = messages.read(line) if note is not None else None
        if note is None or message is None:
            return line
        return messages.line_of(messages.with_note(message, note))

    def _command(self, request: object, session: EditorSession, words: list[str]) -> None:
        """Answers a prompt that is meant for takeback."""

        def then(result: Document | None) -> None:
            text = fields.text(result or {}, "answer") or _SILENT
            self._say(messages.said(session.native, messages.fenced(text)))
            self._say(messages.answered(request))

        asked = session.request("command", command=COMMAND, words=words)
        self._recorder.ask(asked, then, forever=True)

    # -- what the agent says

    def from_agent(self, line: bytes, let_go: LetGo) -> None:
        message = messages.read(line)
        if message is None:
            let_go(line)
        elif "method" in message:
            if message["method"] == messages.UPDATE:
                line = self._updated(message, line)
            let_go(line)
        else:
            asked = self._asked.pop(_key(message.get("id")), None)
            self._answered(asked, message, line, let_go)

    def _updated(self, message: Document, line: bytes) -> bytes:
        """Hears what an agent tells of a session, and returns it as it goes on."""
        params = fields.table(message, "params")
        native, update = fields.text(params, "sessionId") or "", fields.table(params, "update")
        kind, session = update.get("sessionUpdate"), self._sessions.get(native)
        if kind == messages.COMMANDS:
            self._offered.add(native)
            more = messages.with_command(message, _OFFERED)
            return line if more is message else messages.line_of(more)
        if kind in messages.TOOLS and session is not None and self._is_at_work(session):
            call = session.call(update)
            if messages.has_ended(call) and session.is_ours:
                self._round(session, messages.tool(call))
        return line

    def _round(self, session: EditorSession, tool: Document) -> None:
        """Records the end of a round; one that is still waiting for its turn takes it in."""
        waiting = fields.table(self._recorder.last_unsent or {}, "event")
        if waiting.get("event") == events.ROUND_END and waiting["session"] == session.native:
            waiting["tools"].append(tool)
            return
        self._record(session, session.event(events.ROUND_END, tools=[tool]))

    def _answered(
        self, asked: _Asked | None, message: Document, line: bytes, let_go: LetGo
    ) -> None:
        method = "" if asked is None else asked.method
        if asked is None or method not in _HEARD:
            let_go(line)
        elif method == messages.PROMPT:
            self._end(asked, message, line, let_go)
        elif method == messages.CLOSE:
            let_go(line)
            self._close(self._sessions.pop(asked.session, None))
        else:
            let_go(line)
            result = fields.table(message, "result")
            native = (
                fields.text(result, "sessionId") if method in messages.STARTING else asked.session
            )
            if native and asked.directory and "error" not in message:
                self._begin(native, asked.directory)

    def _begin(self, native: str, directory: str) -> None:
        """Hears that a session was begun, or gone on with."""
        session = EditorSession(native, directory, self._agent, self._environ)
        self._sessions[native] = session
        if native not in self._offered:
            self._offered.add(native)
            self._say(messages.update(native, messages.COMMANDS, availableCommands=[_OFFERED]))
        if session.is_ours:
            self._record(session, session.event(events.SESSION_START))

    def _end(self, asked: _Asked, message: Document, line: bytes, let_go: LetGo) -> None:
        """Hears that a prompt has been done with: with the last of them a turn ends."""
        session = self._sessions.get(asked.session)
        if session is None or self._is_at_work(session):
            let_go(line)
            return
        if session.is_ours:
            result = fields.table(message, "result")
            reason = fields.text(result, "stopReason") or "error"
            is_stopped = "error" in message or reason == messages.CANCELLED
            kind = events.INTERRUPTED if is_stopped else events.TURN_END
            self._record(session, session.event(kind, reason=reason), lambda heard: let_go(line))
        else:
            let_go(line)
        if not session.is_settled:
            self._settle(session)

    def _settle(self, session: EditorSession) -> None:
        """Asks who has recorded a session: the agent's own hooks may have, unknown to us."""

        def then(result: Document | None) -> None:
            if result is not None and not session.settle(list(fields.texts(result, "agents"))):
                complain(f"acp {self._agent.program}: {_UNHEARD}", session.directory)
            session.is_asked_about = False
            go_on, session.then = session.then, nothing
            go_on()

        session.is_asked_about = True
        self._recorder.ask(session.request("recorded"), then)

    # -- the end

    def end(self, why: str) -> Iterator[bytes]:
        """Hears that the agent has ended: returns the answers that it owes to the editor."""
        for session in self._sessions.values():
            self._close(session)
        self._sessions.clear()
        for asked in self._asked.values():
            yield messages.failed(asked.request, why)
        self._asked.clear()

    def _close(self, session: EditorSession | None) -> None:
        if session is not None and session.is_ours:
            self._record(session, session.event(events.SESSION_END))

    def _record(
        self,
        session: EditorSession,
        event: Document,
        then: Callable[[Document], None] | None = None,
    ) -> None:
        """Has an event recorded; ``then`` is called also if that fails, or takes too long."""
        asked = {"call": EVENT, "cwd": session.directory, "event": event}
        self._recorder.ask(asked, lambda heard: None if then is None else then(heard or {}))


_HEARD = (messages.PROMPT, messages.CLOSE, *messages.STARTING, *messages.RESUMING)


def _key(request: object) -> str:
    """Returns what tells a request from others: ``1`` and ``"1"`` are two."""
    return repr(request)
