"""Plain words: command lines that are understood without the parser.

Importing click takes longer than listing a timeline. So the forms that are typed most are read
here: ``log``, ``status``, and no command at all, with a few options. Anything else, anything that
is wrong, and anything said twice goes to click, which alone knows how to say what is wrong. What is
done is the same function either way, and a test holds each form against click's definitions.
"""

from __future__ import annotations

from takeback.cli.running import COMPLETE, guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from takeback.cli.call import Call

GLOBAL_FLAGS = {
    "--json": ("json", True),
    "-q": ("quiet", True),
    "--quiet": ("quiet", True),
    "-v": ("verbose", True),
    "--verbose": ("verbose", True),
    "--no-pager": ("pager", False),
}
"""Options of every command: the attribute of the call that each sets, and to what."""
DIRECTORY = "-C"
FLAGS = {
    "log": {"--all": "everything", "--operations": "operations"},
    "status": {},
    "pick": {},
}
"""The flags of each command that are understood."""
NUMBERS = {"log": {"-n": "number"}, "status": {}, "pick": {}}
"""Its options that take a number."""
_LONGEST = 9
"""Digits of a number; a longer one is a slip, and click's."""


class Plain:
    """A command line that was understood. ``verb`` is None if it has none."""

    def __init__(self) -> None:
        self.verb: str | None = None
        self.of_call: dict[str, Any] = {}
        self.of_verb: dict[str, Any] = {}

    def run(self, call: Call) -> int:
        """Does what was asked for."""
        for name, value in self.of_call.items():
            setattr(call, name, value)
        verb = self.verb or call.verb_meant()
        call.begin(verb)
        return _body(verb)(call, **self.of_verb)


def answered(words: list[str], environ: Mapping[str, str]) -> int | None:
    """Runs a call and returns its exit status; None if its words are for the parser."""
    plain = None if COMPLETE in environ else understood(words)
    return None if plain is None else guarded(plain.run, words)


def understood(words: list[str]) -> Plain | None:
    """Returns what plain words mean; None if they are not plain."""
    plain, rest = Plain(), list(words)
    while rest:
        word = rest.pop(0)
        if plain.verb is None and word in FLAGS:
            plain.verb = word
        elif word in GLOBAL_FLAGS:
            name, value = GLOBAL_FLAGS[word]
            if name in plain.of_call:
                return None
            plain.of_call[name] = value
        elif word == DIRECTORY and "directory" not in plain.of_call:
            if not rest or not rest[0] or rest[0].startswith("-"):
                return None
            plain.of_call["directory"] = rest.pop(0)
        elif plain.verb is None or not _takes(plain, word, rest):
            return None
    return plain


def _takes(plain: Plain, word: str, rest: list[str]) -> bool:
    """Takes one of the command's own options, with its value; False if it is none of them."""
    assert plain.verb is not None
    name = FLAGS[plain.verb].get(word) or NUMBERS[plain.verb].get(word)
    if name is None or name in plain.of_verb:
        return False
    if word in FLAGS[plain.verb]:
        plain.of_verb[name] = True
        return True
    digits = rest.pop(0) if rest else ""
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST):
        return False
    plain.of_verb[name] = int(digits)
    return True


def _body(verb: str) -> Callable[..., int]:
    if verb == "log":
        from takeback.cli.bodies.log import log

        return log
    if verb == "status":
        from takeback.cli.bodies.status import status

        return status
    from takeback.cli.bodies.pick import pick

    return pick
