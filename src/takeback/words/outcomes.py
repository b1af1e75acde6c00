"""Outcomes and checkpoints as lines of text. Sentences; ids come last and bare."""

from __future__ import annotations

import shlex
import time
from types import MappingProxyType

from takeback.errors import UsageError
from takeback.model.address import label_words
from takeback.model.agent import FROM
from takeback.model.checkpoint import AMID, EXPIRED
from takeback.model.conflicts import CHOICES
from takeback.model.coverage import KEEP_OTHERS, OVERWRITE_OTHERS, Overrides
from takeback.model.lines import split
from takeback.model.naming import ago
from takeback.model.operation import (
    APPLY,
    BEGINS,
    BOTH,
    CONFLICTS,
    CONVERSATION,
    FILES,
    FORK,
    IGNORED_STAY,
    NOT_ASKED,
    OTHERS,
    REDO,
    REVERT,
    REWIND,
    SUMMARISE,
    UNDO,
    way,
)
from takeback.model.turn import STEER
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.visible import shown
from takeback.words.text import count, more_files, quoted, shortened, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from takeback.model.agent import Sending
    from takeback.model.checkpoint import Resume
    from takeback.model.conflicts import Conflict, ConflictChoice, ConflictKind
    from takeback.model.coverage import Waiver
    from takeback.model.entries import OwnedChange, Turn
    from takeback.model.lines import Disputed
    from takeback.model.operation import (
        Goal,
        LeftAlone,
        Move,
        OperationKind,
        Outcome,
        Plan,
        Refusal,
        StepKind,
    )
    from takeback.rewind.request import Kept
    from takeback.timeline.timeline import Shown
    from takeback.words.text import Paint


# -- conflicts in words: what two changed, and what can be chosen about it


_KINDS: dict[ConflictKind, str] = {
    "text": "the same lines were changed again since",
    "binary": "its bytes were changed again since, and it has no lines to merge",
    "link": "it leads to another place since",
    "mode": "its permission bits were changed again since",
    "type": "a file, a directory or a link is in the place of another one",
    "both_added": "it is to come back, and another one is there",
    "deleted_here": "it is to change, and was deleted since or cannot be kept now",
    "deleted_there": "it is to go, and was changed since",
    "shared": "{sessions} changed it at once, and nothing tells which lines are whose",
}
_APPLIED: dict[ConflictKind, str] = {
    "text": "the same lines were changed here, too",
    "binary": "its bytes were changed here, too, and it has no lines to merge",
    "link": "it leads to another place here",
    "mode": "its permission bits were changed here, too",
    "type": _KINDS["type"],
    "both_added": "it is to come, and another one is here",
    "deleted_here": "it is to change, and is not here or cannot be kept now",
    "deleted_there": "it is to go, and was changed here",
    "shared": _KINDS["shared"],
}
"""The same for what a turn of another branch brings in: that is not earlier than what is here."""
_CHOICES: dict[ConflictChoice, str] = {
    "ours": "Leave it as it is now",
    "theirs": "Change it all the same",
    "markers": "Write both, between conflict markers",
    "skip": "Leave the whole file as it is",
}
OPTION = "--conflicts="
_LINES = 12
_STRETCHES = 5


def title(conflict: Conflict, kind: OperationKind) -> str:
    """Says which file is in conflict in an operation, and why."""
    name = shown_file(conflict.path)
    if conflict.origin is not None:
        name = f"{shown_file(conflict.origin)}, now {name}"
    said = (_APPLIED if kind == APPLY else _KINDS)[conflict.kind]
    return f"{name}: {said.format(sessions=shown(' and '.join(conflict.sessions)))}"


def choice(name: ConflictChoice) -> str:
    """Says what a choice means."""
    return _CHOICES[name]


def disputed_lines(plan: Plan, paint: Paint) -> Iterator[str]:
    """Yields the first disputed stretches of a plan, each with the name of its file."""
    stretches = [(conflict, one) for conflict in plan.conflicts for one in conflict.hunks]
    for conflict, one in stretches[:_STRETCHES]:
        first, *lines = stretch_lines(one, plan.kind, paint)
        yield f"{shown_file(conflict.path)}, {first}"
        yield from lines
    if len(stretches) > _STRETCHES:
        yield f"... and {len(stretches) - _STRETCHES} such places more"


def all_alike(conflicts: Iterable[Conflict], line: str) -> Iterator[str]:
    """Yields what can be typed to settle all conflicts in the same way, and what it means.

    ``line`` is what is typed before that.
    """
    offered = [set(one.choices) for one in conflicts]
    for name in CHOICES:
        if all(name in one for one in offered):
            yield f"  {line} {OPTION}{name}  {choice(name)}"


def stretch_lines(found: Disputed, kind: OperationKind, paint: Paint) -> Iterator[str]:
    """Yields a disputed stretch: what is there now, and what would be there."""
    yield paint.id(f"line {found.line}")
    yield from (paint.added(line) for line in _side("now", found.ours))
    yield from (
        paint.deleted(line) for line in _side("turn" if kind == APPLY else "then", found.theirs)
    )


def _side(name: str, text: bytes) -> Iterator[str]:
    lines = split(text)
    for line in lines[:_LINES]:
        yield f"  {name:<5}{shortened(shown(line.decode('utf-8', 'replace').rstrip(chr(10))))}"
    if len(lines) > _LINES:
        yield f"  {name:<5}... and {len(lines) - _LINES} lines more"
    if not lines:
        yield f"  {name:<5}(nothing)"


# -- the objections to a plan, in the words of the command line, where options waive them


FLAGS: dict[str, Waiver] = {
    "--allow-mass-delete": "mass_delete",
    "--during-git": "during_git",
    "--other-branch": "other_branch",
    "--during-turn": "during_turn",
    "--overwrite-others": "overwrite_others",
    "--keep-others": "keep_others",
}
"""What a person types to waive a precondition, and the field of ``Overrides`` for it."""


class Ways(Value):
    """What a person says or presses in one face to have it another way; nothing if they cannot.

    ``keep`` is how more is kept by a rewind, ``ignored`` how ignored files are brought back, too,
    ``session`` how another session is named.
    """

    keep: Mapping[Kept, str] = MappingProxyType({})
    ignored: str = ""
    session: str = ""


NO_WAYS = Ways()
COMMAND_LINE = Ways({EDITS: "--keep-edits", ALL_OTHERS: "--mine"}, "--ignored", "--session ID")
_FLAG_OF = {field: flag for flag, field in FLAGS.items()}


def overrides(words: Iterable[str]) -> Overrides:
    """Returns what flags, or names of fields, waive.

    Raises UsageError for one that there is not, and for two that conflict.
    """
    wanted = {FLAGS.get(word, word) for word in words}
    unknown = sorted(wanted.difference(FLAGS.values()))
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} waives nothing; there are: {', '.join(FLAGS.values())}",
            hint="say one of them, or none",
        )
    if {KEEP_OTHERS, OVERWRITE_OTHERS} <= wanted:
        raise UsageError(
            "--keep-others and --overwrite-others say opposite things", hint="say one of them"
        )
    return Overrides(**{name: True for name in FLAGS.values() if name in wanted})


def flag(refusal: Refusal) -> str:
    """Returns the option that overrides it; empty if nothing does."""
    if refusal.code == CONFLICTS:
        return f"{OPTION}{'|'.join(refusal.choices)}"
    return _FLAG_OF[refusal.waivers[-1]] if refusal.waivers else ""


def flags(refusals: Sequence[Refusal]) -> list[str]:
    """Returns the options that waive all of them, each once; none if one cannot be waived."""
    found = list(dict.fromkeys(flag(one) for one in refusals))
    return found if all(found) else []


def left_alone(reason: str, ways: Ways) -> str:
    """Returns why a path is left alone, with the way not to leave it, if there is one here."""
    return f"{reason}: {ways.ignored}" if ways.ignored and reason == NOT_ASKED else reason


def sentence(refusal: Refusal) -> str:
    """Returns why it is refused, with the option that leaves alone what it is about."""
    leaves = f"; {_FLAG_OF[KEEP_OTHERS]} leaves them" if refusal.code == OTHERS else ""
    return refusal.message + leaves


# -- what is said of a protected run


_LONGEST = 60


def turn_words(command: Sequence[str], began: float) -> str:
    """Returns the words of a turn that nobody typed: when the first change came, and what ran."""
    line = shlex.join(command)
    line = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return f"{time.strftime('%H:%M:%S', time.localtime(began))} {line}"


def end_line(turns: int, failure: str | None) -> str | None:
    """Returns what the person is told at the end; None if there is nothing to tell."""
    if failure is not None:
        return f"takeback: what changed last is not kept: {failure}. More: takeback status"
    if not turns:
        return None
    return f"takeback: {count(turns, 'turn')} kept. Take the last one back: takeback rewind"


# -- outcomes and checkpoints as lines of text. Sentences; ids come last and bare


MOST_LINES = 20
_NAMES = 3
_PROMPT = 60
_PROMPT_LINES = 100
_PROMPT_ROOM = 6000
"""Characters of a prompt that are printed: agents that are given 10,000 cut off the rest."""
_DONE: dict[OperationKind, str] = {
    REWIND: "Rewound",
    REVERT: "Reverted",
    APPLY: "Applied",
    UNDO: "Undid",
    REDO: "Redid",
    FORK: "Forked",
    SUMMARISE: "Summarised",
}


def about(words: str | None) -> str:
    """Returns where something is, in parentheses and after a blank; or nothing."""
    return f" ({shown(words)})" if words else ""


def at(goal: Goal) -> str:
    """Names where an operation goes: a checkpoint with words in parentheses, else the words."""
    return f"{goal.id}{about(goal.about)}" if goal.id else shown(goal.name)


def short(text: str) -> str:
    """Returns a prompt on one line, cut if it is long."""
    text = shown(" ".join(text.split()))
    return text if len(text) <= _PROMPT else text[: _PROMPT - 1] + "…"


def left_alone_lines(
    items: Sequence[LeftAlone], heading: str, ways: Ways = NO_WAYS
) -> Iterator[str]:
    """Yields every path that is left as it is, with the reason; never shortened."""
    if items:
        yield f"{heading}:"
    for item in items:
        yield f"  {shown_file(item.path)}: {shown(left_alone(item.reason, ways))}"


def beyond_lines(of: Plan | Outcome, *, whole: bool) -> Iterator[str]:
    """Yields what edit tools changed outside the workspace: it stays as it is."""
    if of.beyond:
        yield "changed by edit tools outside the workspace, and not taken back:"
        yield from listed([shown_file(path) for path in of.beyond], whole=whole)
        yield f"(as it was before: takeback cat {of.goal.name} PATH)"


def kept_lines(of: Plan | Outcome, *, whole: bool) -> Iterator[str]:
    """Yields which of a person's edits are kept."""
    if of.edits:
        yield "your own edits since then, kept:"
        yield from listed([shown_file(path) for path in of.edits], whole=whole)


def listed(lines: Sequence[str], *, whole: bool) -> Iterator[str]:
    """Yields lines, indented; of very many the first, and how many more there are."""
    most = len(lines) if fits(lines, whole=whole) else MOST_LINES
    for line in lines[:most]:
        yield f"  {line}"
    if len(lines) > most:
        yield f"  +{len(lines) - most} more (-v lists all)"


def fits(lines: Sequence[object], *, whole: bool) -> bool:
    """Tells whether all of them are shown."""
    return whole or len(lines) <= MOST_LINES + 1


def question(kind: OperationKind, plan: Plan, of: Move | None) -> str:
    """Returns the question that a plan asks."""
    files = count(plan.files, "file")
    if of is not None:
        return f"{kind.capitalize()} {_step(of, files)}?"
    if plan.sending is not None:
        return f"Summarise {_prompts(plan.sending)}?"
    what = {FILES: files, CONVERSATION: "the conversation"}.get(
        plan.scope, f"{files} and the conversation"
    )
    return f"{kind.capitalize()} {what} {way(kind)} {at(plan.goal)}?"


def sending_lines(sending: Sending) -> Iterator[str]:
    """Yields what of a conversation is sent to whom, and what stays of it."""
    size = f"{count(sending.prompts, 'prompt')} with all that followed, {sending.characters:,}"
    if sending.argv:
        yield f"{size} characters, are sent to the model of: {shown(sending.argv[0])}"
        yield f"as: {' '.join(quoted(word) for word in sending.argv)}"
    else:
        yield f"{size} characters, become {shown(sending.by)}; takeback sends nothing"
    yield f"{count(sending.kept, 'prompt')} with all that followed stay as they are"


def _prompts(sending: Sending) -> str:
    where = "from there on" if sending.way == FROM else "up to there"
    return (
        f"{count(sending.prompts, 'prompt')} and all that followed, {where}, by {shown(sending.by)}"
    )


def _step(of: Move, files: str) -> str:
    """Names the operation that an undo or redo is about, and what it moves."""
    what = "the conversation" if of.scope == CONVERSATION else files
    return f"the {of.kind} {way(of.kind)} {shown(of.where)} ({what})"


def outcome_lines(
    outcome: Outcome,
    of: Move | None,
    *,
    command: str = "takeback",
    agreed: str = "",
    ways: Ways = NO_WAYS,
) -> Iterator[str]:
    """Yields what was done and how to take it back.

    ``command`` is how takeback is called here, ``agreed`` a word that agrees at once.
    """
    if outcome.operation is None:
        yield from _nothing_done(outcome)
        yield from _staying(outcome, ways)
        yield from conversation_lines(outcome)
        return
    files = count(outcome.files, "file")
    if of is not None:
        yield f"{_DONE[outcome.kind]} {_step(of, files)}."
    elif outcome.kind == FORK:
        yield f"Forked from {at(outcome.goal)}."
    elif outcome.kind == SUMMARISE:
        yield "Summarised a part of the conversation, in a new session; the old one stays."
    else:
        what = "the conversation" if outcome.scope == CONVERSATION else files
        what += " and the conversation" if outcome.scope == BOTH else ""
        yield f"{_DONE[outcome.kind]} {what} {way(outcome.kind)} {at(outcome.goal)}."
    if outcome.directory is not None:
        kind = "a plain directory without .git"
        if outcome.commit is not None:
            kind = f"a git worktree at {outcome.commit[:7]}, on no branch"
        yield f"The files are in {shown(outcome.directory)}, {kind}"
        yield _begun(f"{IGNORED_STAY}.")
    yield from _staying(outcome, ways)
    yield from conversation_lines(outcome)
    if not outcome.verified and all(item.by_rule for item in outcome.left_alone):
        yield "The files are not exactly at the target: something changed them meanwhile."
    back = way_back(outcome)
    if back is not None:
        yield " ".join(["Take it back:", command, back, *([agreed] if agreed else [])])


def _staying(outcome: Outcome, ways: Ways) -> Iterator[str]:
    """Yields all that stays as it is, and why."""
    yield from left_alone_lines(outcome.left_alone, "Left alone", ways)
    yield from map(_begun, beyond_lines(outcome, whole=True))
    yield from map(_begun, kept_lines(outcome, whole=True))


def _begun(line: str) -> str:
    """Returns a line with a capital letter where it begins a sentence."""
    return line[:1].upper() + line[1:]


def _nothing_done(outcome: Outcome) -> Iterator[str]:
    """Says that nothing of what was asked for had to be done."""
    if outcome.scope != CONVERSATION:
        yield _nothing(outcome.goal, outcome.kind, possible=outcome.verified)
    if outcome.scope != FILES:
        named = f": {outcome.session}" if outcome.session is not None else ""
        yield f"The conversation is already at that place, its session is there{named}"


def nothing_to_do(plan: Plan) -> str:
    """Says that a plan is empty, and whether that is as expected."""
    return _nothing(plan.goal, plan.kind, possible=plan.is_possible)


def _nothing(goal: Goal, kind: OperationKind, *, possible: bool) -> str:
    place = at(goal)
    if kind == APPLY:
        return f"Nothing to do: all that {place} changed is in the files already."
    if kind == REVERT:
        return f"Nothing to do: there is nothing of {place} to take out of the files."
    if not possible:
        return f"Nothing can be changed: what is left alone cannot go to {place}."
    if not goal.complete:  # it does not vouch for every path
        return f"Nothing to do: all that {place} holds is here; it does not hold everything."
    return f"Nothing to do: the files are already at {place}."


def way_back(outcome: Outcome) -> StepKind | None:
    """Returns the command that takes an outcome back; None if nothing was removed."""
    if outcome.operation is None:
        return None
    if outcome.kind in BEGINS and (outcome.scope != BOTH or outcome.directory):
        return None
    return REDO if outcome.kind == UNDO else UNDO


def conversation_lines(outcome: Outcome) -> Iterator[str]:
    """Yields how the conversation continues, and the prompt that was taken back."""
    if outcome.conversation_error is not None:
        yield f"The conversation was not moved: {shown(outcome.conversation_error)}"
    if outcome.prompt is not None:
        yield from _prompt_lines(outcome.prompt, outcome.goal.id or "")
    if outcome.resume is not None and outcome.resume.argv:
        yield from resume_lines(outcome.resume)
        if outcome.resume.in_tui:
            yield f"or, inside it: {shown(outcome.resume.in_tui)}"
    elif outcome.session is not None and outcome.scope != FILES:
        yield f"The conversation goes on as session {outcome.session}"


def resume_lines(resume: Resume) -> Iterator[str]:
    """Yields how a person continues a session; words that are not takeback's own are quoted."""
    line = f"cd {quoted(resume.cwd)} && {' '.join(quoted(word) for word in resume.argv)}"
    if resume.is_own:
        yield f"Go on with it: {line}"
    else:
        yield f"The host's words for how it goes on, not takeback's: \"{line}\""


def _prompt_lines(prompt: str, checkpoint: str) -> Iterator[str]:
    """Yields a prompt so that it can be typed again: whole, unless it is very long."""
    lines = prompt.strip().split("\n")
    if len(lines) == 1 and len(lines[0]) <= _PROMPT:
        yield f'The prompt was: "{shown(lines[0])}"'
        return
    yield "The prompt was:"
    room = _PROMPT_ROOM
    for line in lines[:_PROMPT_LINES]:
        piece = shown(line[:room])[:room]
        room -= len(piece)
        yield f"  {piece}"
    if room <= 0 or len(lines) > _PROMPT_LINES:
        whole = f"takeback show {checkpoint}".rstrip()
        yield f"  ... it has {len(prompt.strip()):,} characters; all of them: {whole}"


def counts(added: int, deleted: int, paint: Paint) -> str:
    return f"{paint.added(f'+{added}')} {paint.deleted(f'-{deleted}')}"


def file_names(paths: Sequence[bytes]) -> str:
    """Returns the first three paths and how many more there are."""
    if not paths:
        return "no changes"
    names = ", ".join(shown_file(path) for path in paths[:_NAMES])
    return names + more_files(paths[_NAMES:])


def shown_lines(found: Shown, paint: Paint, now: float) -> Iterator[str]:
    """Yields one checkpoint in full."""
    checkpoint = found.entry.checkpoint
    yield f"checkpoint {paint.id(checkpoint.id)}"
    yield f"  made      {ago(checkpoint.time, now)}{_moment(checkpoint.time)}"
    yield f"  kind      {checkpoint.kind}"
    for name, value in (
        ("label", None if checkpoint.label is None else label_words(checkpoint)),
        ("prompt", checkpoint.prompt),
        ("branch", checkpoint.branch),
        ("head", checkpoint.head),
    ):
        if value is not None:
            yield from _field(name, value)
    yield f"  session   {shown(checkpoint.session)}"
    yield f"  snapshot  {checkpoint.snapshot}"
    yield f"  files     {checkpoint.files:,}"
    yield f"  complete  {'yes' if checkpoint.complete else 'no'}"
    if checkpoint.expired is not None:
        when = ago(checkpoint.expired, now)
        yield f"  {EXPIRED}   {paint.warning(f'its files were dropped {when}')}"
    if checkpoint.amid is not None:
        yield f"  amid      {paint.warning(AMID)}, {shown(checkpoint.amid)}"
    turn, tests = found.entry.turn, found.entry.tests
    if tests is not None:
        at = "at its end" if turn is not None else "here"
        yield f"  tests     {'passed' if tests.passed else 'failed'} {at}: {shown(tests.command)}"
    if turn is not None:
        yield from _turn_lines(found, turn, paint)
        yield from _changed("changed before it:", found.entry.before, paint)
    else:
        yield from _changed("changed by it:", found.entry.done, paint)
        yield from _changed("changed since the state before:", found.entry.changes, paint)
        if not found.entry.changes and checkpoint.expired is None:
            yield "no changes"
    if found.not_held:
        yield "not held:"
    for item in found.not_held:
        yield f"  {shown_file(item.path)}: {item.reason}"


def _field(name: str, value: str) -> Iterator[str]:
    """Yields a field; several lines, as a prompt often has, are kept."""
    first, *rest = value.expandtabs(4).splitlines() or [""]
    yield f"  {name:<9} {shown(first)}"
    for line in rest:
        yield f"{'':<12}{shown(line)}".rstrip()


def _turn_lines(found: Shown, turn: Turn, paint: Paint) -> Iterator[str]:
    yield f"  turn      {turn.number if turn.number is not None else turn.kind}, {turn.state}"
    if found.tools:
        used = ", ".join(f"{shown(name)} x{times}" for name, times in found.tools)
        yield f"  tools     {used}"
    for step in found.steps:
        if step.checkpoint.kind == STEER:
            yield f'  meanwhile "{short(step.checkpoint.prompt or "")}"'
    yield from _changed("changed by it:", found.entry.done, paint)
    if not found.entry.done:
        yield "it changed nothing" + (" here" if found.beyond else "")
    if found.beyond:
        yield "changed by its edit tools outside the workspace:"
    for path in found.beyond:
        yield f"  {shown_file(path)}"


def _changed(heading: str, changes: Sequence[OwnedChange], paint: Paint) -> Iterator[str]:
    if changes:
        yield heading
    for change in changes:
        lines = ""
        if change.added is not None or change.deleted is not None:
            lines = f"  {counts(change.added or 0, change.deleted or 0, paint)}"
        who = f"  {shown(change.who)}" if change.who else ""
        yield f"  {change.kind:<8}  {shown_file(change.path)}{lines}{who}"


def _moment(time: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(time).astimezone().strftime(" (%Y-%m-%d %H:%M:%S %z)")
