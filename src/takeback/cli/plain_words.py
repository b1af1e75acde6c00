"""Plain words: the command lines that people type most, understood without the parser."""

from __future__ import annotations

import os
import sys
import time

from takeback.cli.call import COMPLETE, guarded
from takeback.cli.terminal import ask, is_terminal, paged, terminal_width
from takeback.errors import NotAWorkspace, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from takeback.app.connect import AgentState
    from takeback.app.engine import Engine
    from takeback.cli.call import Call
    from takeback.model.entries import Earlier
    from takeback.timeline.look import Status
    from takeback.timeline.timeline import Listing


# -- lists turns and checkpoints, or operations
#
# The words of each list, and of the status, are imported when it is asked for: they are half of all
# modules that a list takes.


MOST_ROWS = 30
"""How many entries a person is shown by default."""


def log(
    call: Call,
    *,
    session: str | None = None,
    everything: bool = False,
    number: int | None = None,
    operations: bool = False,
    paths: tuple[str, ...] = (),
) -> int:
    """Prints the list; ``number`` is how many at most."""
    from takeback.cli.earlier import mention

    with call.open("log") as tb:
        limit = -1 if number is None else number
        if operations:
            if paths:
                raise UsageError("--operations takes no paths", hint=("leave one of them out",))
            return _operations(call, tb, session, limit)
        if number is None and not call.json and not everything:
            limit = MOST_ROWS
        if call.json:
            from takeback.words.documents import timeline_entry

            for entry in tb.checkpoints(
                session=session, everything=everything, limit=limit, paths=paths
            ):
                call.output.document("checkpoint", timeline_entry(entry))
        else:
            from takeback.words.listing import older, stand_elsewhere

            found = tb.listing(session=session, everything=everything, limit=limit, paths=paths)
            _print_list(call, tb, found, whose=bool(paths))
            if found.elsewhere is not None and not paths:
                call.output.note(stand_elsewhere(found.elsewhere, time.time()))
            if number is None and found.more:
                call.output.note(older(found.more, limit, paths))
        mention(call, tb)
        _warn(call, tb)
    return 0


def _warn(call: Call, tb: Engine) -> None:
    """Says which agents worked here unheard: their turns are not in the list."""
    for one in tb.silence():
        from takeback.words.status import warning

        call.output.note(warning(one))


def _print_list(call: Call, tb: Engine, found: Listing, *, whose: bool) -> None:
    from takeback.words.listing import Columns

    output, now = call.output, time.time()
    columns = Columns(found, output.paint, now, room=terminal_width(sys.stdout), whose=whose)
    with paged(call, tb):
        output.lines(columns.all_lines())


def _operations(call: Call, tb: Engine, session: str | None, limit: int) -> int:
    from takeback.words import documents
    from takeback.words.sessions import operation_line

    output, now = call.output, time.time()
    one = None if session is None else tb.session_meant(session)
    found = [done for done in tb.operation_log() if one in (None, done.session)]
    found.reverse()
    some = found if limit < 0 else found[:limit]
    with paged(call, tb):
        for done in some:
            output.document("operation", documents.operation(done))
            output.line(operation_line(done, output.paint, now))
    return 0


# -- opens the picker, or the numbered list where there is no screen


def pick(call: Call) -> int:
    """Shows it until the person leaves."""
    if call.json:
        raise UsageError(
            "the picker is for people and has no JSON", hint="for programs: takeback log --json"
        )
    call.refuse_dry_run("pick", hint="nothing is done in it before its plan was shown")
    return open_screen() if can_show() else _numbered_list(call)


def can_show() -> bool:
    """Tells whether there is a terminal on which a screen can be drawn."""
    streams = (sys.stdin, sys.stdout, sys.stderr)  # it is drawn on stderr
    return all(map(is_terminal, streams)) and os.environ.get("TERM", "dumb") != "dumb"


def open_screen() -> int:
    """Opens the picker; what it has to say while open appears on its screen."""
    from takeback.app.engine import Engine
    from takeback.app.threads import PolledReporter
    from takeback.cli.earlier import open_or_offer
    from takeback.tui.run import open_picker
    from takeback.words.earlier import offer

    reporter = PolledReporter()

    def opening() -> Engine:
        return Engine.open(".", create=False, reporter=reporter, holder="pick", bounded=True)

    def opened() -> Engine:
        tb = open_or_offer(opening, can_ask=True)
        line = offer(tb.earlier_stores, time.time())
        if line:
            reporter.note(line)
        return tb

    return open_picker(opened, environ=os.environ, reporter=reporter)


def _numbered_list(call: Call) -> int:
    from takeback.cli.earlier import mention, open_or_offer
    from takeback.cli.plain import pick_plain

    with open_or_offer(lambda: call.open("pick", note=False), can_ask=call.can_ask) as tb:
        mention(call, tb)
        return pick_plain(
            tb, ask=ask, say=call.output.line, now=time.time(), room=terminal_width(sys.stdout)
        )


# -- says where the files stand, what is kept, and what went wrong


def status(call: Call, *, seen: bool = False) -> int:
    """Prints it; with ``seen`` the failures that were shown are not shown again.

    Where there can be no workspace it says what it can of the rest, and raises NotAWorkspace then.
    """
    from takeback.app.engine import Engine

    try:
        with call.open("status", note=False) as tb:
            found, agents, before = tb.status(look=True), tb.agents(), tb.earlier_stores
            if seen and not call.dry_run:
                tb.see_failures()
    except NotAWorkspace as error:
        unopened = Engine.unopened(after=error)
        found, agents, before = unopened.status(), unopened.agents(), unopened.earlier()
    _print_state(call, found, agents, before)
    if found.never is not None:
        raise found.never
    return 0


def _print_state(
    call: Call, found: Status, agents: Sequence[AgentState], before: Sequence[Earlier]
) -> None:
    from takeback.words import earlier
    from takeback.words.status import agent_lines, first_steps, status_lines, whole

    output, now = call.output, time.time()
    if call.json:
        output.document("status", whole(found, agents, before))
        return
    output.lines(status_lines(found, output.paint, now))
    offer = earlier.offer(before, now)
    if offer:
        output.line(output.paint.warning(offer))
    elif found.standing is None and found.never is None:
        steps = first_steps(agents)
        output.line(f"{steps[0].upper()}{steps[1:]}")
    output.lines(agent_lines(agents, now))


# -- plain words
#
# Importing click takes longer than listing a timeline. So the forms that are typed most are read
# here: ``log``, ``status``, and no command at all, with a few options. Anything else, anything
# that is wrong, and anything said twice goes to click, which alone knows how to say what is
# wrong. What is done is the same function either way, and a test holds each form against click's
# definitions.


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
    bodies: dict[str, Callable[..., int]] = {"log": log, "status": status}
    return bodies.get(verb, pick)
