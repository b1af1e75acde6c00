"""The hook: an agent calls it at each event. It never fails, never blocks, never chatters.

    stdin    what the agent says, in JSON
    stdout   nothing, or what the model has to be told, or the person
    exit     0 always: another status would stop the agent

Whatever goes wrong is one line in a log, which ``takeback status`` shows.
"""

from __future__ import annotations

import os

from takeback.adapters import CONNECTED, adapter_speaking
from takeback.errors import TakebackError
from takeback.model import json_text
from takeback.model.event import PROMPT, READ, ROUND_END, TOOL_BEFORE, cleaned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.event import AgentEvent
    from takeback.ports import Adapter

_MOST_INPUT = 64 << 20
_PIECE = 1 << 20


def main(words: list[str], *, by_launcher: bool = False) -> int:
    """Takes one event of the agent named by the first word; returns 0, whatever happens.

    ``by_launcher`` says that it came the way that agents' settings name, and was not typed.
    """
    agent = words[0] if words else ""
    where = ""
    try:
        if os.environ.get("TAKEBACK", "").lower() != "off":
            adapter, event = _spoken(agent, _input())
            if event is not None:
                where = event.directory
                answer = _heard(agent, adapter, event, by_launcher)
                if answer:
                    os.write(1, answer.encode(errors="surrogateescape"))
    except TakebackError as error:
        _complain(f"hook {agent}: {error.message}", where)
    except Exception as error:  # a bug of ours must not stop the agent
        _complain(f"hook {agent}: bug: {type(error).__name__}: {error}", where)
    return 0


def _complain(text: str, directory: str) -> None:
    from takeback.store.log import complain

    complain(text, directory)


def _input() -> str:
    pieces: list[bytes] = []
    size = 0
    while size <= _MOST_INPUT:
        piece = os.read(0, _PIECE)
        if not piece:
            return b"".join(pieces).decode("utf-8", "surrogateescape")
        pieces.append(piece)
        size += len(piece)
    raise TakebackError(f"the payload is longer than {_MOST_INPUT >> 20} MB")


def _spoken(agent: str, text: str) -> tuple[Adapter, AgentEvent | None]:
    """Returns who speaks and what it says; None where it says nothing of interest."""
    try:
        payload = json_text.loads(text)
        if not isinstance(payload, dict):
            raise ValueError("the payload is no object")
        adapter = adapter_speaking(agent, payload)
        event = adapter.parse(payload, os.environ)
    except ValueError as error:
        raise TakebackError(str(error)) from None
    return adapter, None if event is None else cleaned(event)


def _heard(agent: str, adapter: Adapter, event: AgentEvent, by_launcher: bool) -> str:
    """Records the event and returns what to print."""
    if not by_launcher and event.agent in CONNECTED:
        from takeback.app.caller import refuse_pretence

        refuse_pretence(event, os.environ)
    if not _concerns_files(event):
        return ""
    from takeback import durable
    from takeback.app import Takeback

    durable.unmask_owner()
    if not Takeback.wants(event.directory):
        return ""
    words = _command(adapter, event)
    try:
        tb = Takeback.open(event.directory, holder=f"hook of {agent}", by_agent=True)
    except TakebackError as error:
        from takeback.events import unheard

        if words is not None:
            return adapter.answer(f"takeback: {error.message}")
        warning = unheard(event, error)
        return adapter.note("", warning) if warning else ""
    with tb:
        if words is not None:
            from takeback.prompt_command import answer
            from takeback.store.namespace import session_id

            session = session_id(event.agent, event.session)
            return adapter.answer(answer(tb, session, words, command=adapter.command or ""))
        if not tb.hears_agents:
            return ""
        from takeback.events import hear

        received = hear(tb, event)
    if received.note or received.warning:
        return adapter.note(received.note or "", received.warning or "")
    return ""


def _concerns_files(event: AgentEvent) -> bool:
    """Tells whether there is anything to save: seen from the event alone, in half the time.

    Not before a tool that makes a new file, and not after a round that only read.
    """
    if event.kind == TOOL_BEFORE:
        paths = [path for tool in event.tools for path in tool.paths]
        return any(os.path.lexists(os.path.join(event.directory, path)) for path in paths)
    if event.kind == ROUND_END and event.human and event.subagent is None and event.tools:
        return any(tool.kind != READ for tool in event.tools)
    return True


def _command(adapter: Adapter, event: AgentEvent) -> list[str] | None:
    """Returns the words of a prompt that is meant for takeback; None for every other event."""
    prompt = (event.prompt or "").strip()
    if event.kind != PROMPT or adapter.command is None:
        return None
    first, *words = prompt.split() or [""]
    return words if first == adapter.command and "\n" not in prompt else None
