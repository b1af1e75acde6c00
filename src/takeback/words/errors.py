"""Errors in the words of each face: what the core says to do about them is data."""

from __future__ import annotations

from takeback.errors import CONVERSATION_ALONE, FILES_ALONE, Command, Option, Refused
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words import waivers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from takeback.errors import Hint, TakebackError

    Document = dict[str, Any]
    Saying = Callable[[Command], str]


class Said(Value):
    """An error as the command line says it; ``flag`` is the option that overrides a refusal."""

    code: str
    message: str
    hint: str
    status: int
    flag: str = ""
    actions: tuple[Command, ...] = ()


def said(error: TakebackError) -> Said:
    """Returns an error in the words of the command line."""
    actions = tuple(part for part in error.advice if isinstance(part, Command))
    as_it_is = Said(error.code, error.message, error.hint, error.exit_status, actions=actions)
    if not isinstance(error, Refused):
        return as_it_is
    if not error.refusals:
        return as_it_is.replace(flag=error.flag)
    reasons = "; and ".join(dict.fromkeys(waivers.sentence(one) for one in error.refusals))
    flags = waivers.flags(error.refusals)
    if not flags:
        return as_it_is.replace(message=reasons)
    return as_it_is.replace(
        message=reasons,
        hint=f"to do it all the same: {' '.join(flags)}",
        flag=flags[0],
        actions=tuple(Option(flag) for flag in flags),
    )


def document(told: Said) -> Document:
    """Returns an error as programs read it: on stderr, and over stdin and stdout."""
    return {
        "code": told.code,
        "message": told.message,
        "hint": told.hint,
        "exit": told.status,
        **({"flag": told.flag} if told.flag else {}),
        "actions": [
            {"option" if isinstance(one, Option) else "command": list(one.words)}
            for one in told.actions
        ],
    }


def command_line(hint: Hint) -> str:
    """Returns a hint in the words of the command line."""
    return shown(hint if isinstance(hint, str) else "".join(map(str, hint)))


def in_picker(error: TakebackError) -> str:
    """Returns what to do about an error, for somebody who sees actions and types no options."""
    titles: dict[Command, str] = {
        FILES_ALONE: "The files only",
        CONVERSATION_ALONE: "The conversation only",
    }
    return _worded(error, lambda part: titles.get(part) or str(part))


def inside(error: TakebackError, line: str, forms: Mapping[str, str]) -> str:
    """Returns what to do about an error, for somebody who typed ``line`` inside an agent.

    ``forms`` are the commands that can be typed there, too, each with the word for it.
    """
    command = line.partition(" ")[0]

    def say(part: Command) -> str:
        if part in (FILES_ALONE, CONVERSATION_ALONE):
            return f"{line} {part.words[0].removeprefix('--')}"
        first, *more = part.words
        if isinstance(part, Option) or more or first not in forms:
            return str(part)
        return f"{command} {forms[first]}".rstrip()

    if isinstance(error, Refused) and error.refusals:
        flags = " ".join(waivers.flags(error.refusals))
        return f"To do it all the same: {line} {flags}" if flags else error.hint
    return _worded(error, say)


def _worded(error: TakebackError, say: Saying) -> str:
    return shown("".join(say(p) if isinstance(p, Command) else p for p in error.advice))
