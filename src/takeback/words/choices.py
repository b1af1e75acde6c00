"""What can be done at a place, why the rest cannot, and what is said when it goes wrong."""

from __future__ import annotations

import time

from takeback.app.proposal import Disputes
from takeback.errors import (
    CONVERSATION_ALONE,
    FILES_ALONE,
    Bug,
    Command,
    Option,
    RecoveredInstead,
    Refused,
    TakebackError,
)
from takeback.model.address import label_words
from takeback.model.operation import (
    APPLY,
    CONVERSATION,
    FILES,
    FORK,
    REDO,
    REVERT,
    REWIND,
    SUMMARISE,
    UNDO,
    way,
)
from takeback.model.value import Value
from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.visible import editable, shown
from takeback.words import documents, outcomes, plans
from takeback.words.listing import entry_words
from takeback.words.outcomes import Ways
from takeback.words.text import Paint, count, quoted, shown_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from takeback.app.actions import Action, ActionName, Obstacle
    from takeback.app.proposal import Dispute, Proposal
    from takeback.errors import Hint
    from takeback.model.checkpoint import Change, Checkpoint, Resume
    from takeback.model.operation import Move, OperationKind, Outcome, Plan, Refusal
    from takeback.rewind.request import Kept
    from takeback.rewind.rewind import Recovered
    from takeback.timeline.look import Status
    from takeback.timeline.timeline import TimelineEntry

    Document = dict[str, Any]
    Saying = Callable[[Command], str]

# -- what can be done at an entry, in words, and why the rest cannot


_TITLES: dict[ActionName, str] = {
    "both": "Files and conversation",
    "conversation": "The conversation only",
    "files": "The files only",
    "ticked": "Only the ticked files",
    "revert": "Revert this turn only, keep what came later",
    "end": "To the end of this turn instead",
    "before": "To before this turn instead",
    "fork": "Fork: a new session with this conversation",
    "fork files": "Fork, and the files here go back too",
    "fork directory": "Fork into a new directory, with its files",
    "summarise from": "Summarise what was said from here on",
    "summarise up to": "Summarise what was said up to here",
    "label": "Label it",
    "copy": "Copy its id",
    "undo": "Undo the last rewind",
    "redo": "Redo what was undone",
    "cancel": "Cancel",
}
"""What a person can choose at a place, by name; the rooms have the operations."""
_OBSTACLES: dict[Obstacle, str] = {
    "no_conversation": "there is no conversation",
    "no_files": "its files have expired",
    "no_tick": "no file is ticked",
    "other_end": "the hunks are ticked for going to before the turn",
    "no_turn": "it is in no turn of an agent",
    "no_end": "the turn has no end yet",
    "nothing_to_undo": "nothing to undo",
    "nothing_to_redo": "nothing to redo",
}


def title(action: Action) -> str:
    """Returns what a person can choose, in words."""
    if action.of is not None:
        of = action.of
        where = shown(of.where)
        return f"{action.name.capitalize()} the last {of.kind}, {way(of.kind)} {where}"
    if action.hunks:
        files = [count(action.ticked, "file")] if action.ticked else []
        return f"Only what is ticked: {', '.join((*files, count(action.hunks, 'hunk')))}"
    if action.ticked:
        return f"Only the {count(action.ticked, 'ticked file')}"
    return _TITLES[action.name]


def obstacle(action: Action) -> str:
    """Returns why an action is not possible, in words; empty if it is."""
    if action.obstacle is None:
        return ""
    return shown(action.detail) or _OBSTACLES[action.obstacle]


def offer(action: Action) -> str:
    """Returns one line of a list of actions: what it is and, in words, why it is not possible."""
    why = obstacle(action)
    return title(action) + (f"  (not possible: {why})" if why else "")


# -- errors in the words of each face: what the core says to do about them is data


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
    reasons = "; and ".join(dict.fromkeys(outcomes.sentence(one) for one in error.refusals))
    flags = outcomes.flags(error.refusals)
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
        flags = " ".join(outcomes.flags(error.refusals))
        return f"To do it all the same: {line} {flags}" if flags else error.hint
    return _worded(error, say)


def _worded(error: TakebackError, say: Saying) -> str:
    return shown("".join(say(p) if isinstance(p, Command) else p for p in error.advice))


# -- what can be done at a place, what is asked before that, and what is said when it goes wrong
#
# The picker and the numbered list say the same; each has its own keys and colours.


NEW_PLAN = "The files changed meanwhile; this is the new plan."
STEP_BACK = "Step back"
ANSWER_FIRST = "Answer what speaks against it"
CHOOSE_FIRST = "Choose where both changed the same"

INTERRUPTED = (
    "An operation was interrupted here, or another process is in the middle of one. "
    "Each file is its old or its new version, and nothing is lost. "
    "Recovering finishes the operation, or rolls it back if it cannot be finished."
)
OVER_MEANWHILE = "Nothing is interrupted any more: it ended meanwhile."

LABEL_ABOUT = "A name that finds it again. An empty line takes the label off."
DIRECTORY = "Fork into which directory?"
DIRECTORY_ABOUT = "One that is not there yet, outside this workspace."
LOOKING = "Looking what can be done…"
PLANNING = "Working out the plan…"
RECOVERING = "Recovering…"
WAY_KEYS: dict[Kept, str] = {EDITS: "e", ALL_OTHERS: "m"}
"""What a person presses or types to keep more than a rewind would."""
_DOING = {
    REWIND: "Rewinding…",
    REVERT: "Reverting…",
    APPLY: "Applying…",
    UNDO: "Undoing…",
    REDO: "Redoing…",
    FORK: "Forking…",
    SUMMARISE: "Waiting for the summary…",
}


def plan_lines(proposal: Proposal, plan: Plan, paint: Paint) -> Iterator[str]:
    """Yields a whole plan without its refusals: what happens to which file."""
    ways = Ways({what: WAY_KEYS[what] for what in proposal.ways_to_keep(plan)})
    if proposal.directory is not None:
        yield f"Its files go into {shown(proposal.directory)}; those here stay as they are."
    elif plan.scope == CONVERSATION:
        yield "The files stay as they are."
    elif plan.is_empty and plan.scope != FILES and not plan.conflicts and plan.is_possible:
        yield "The files are already there; none changes."
    yield from plans.plan_lines(plan.replace(refused=()), paint, whole=True, ways=ways)
    if plan.scope != FILES and proposal.of is None:
        yield "The conversation goes on as a new session; the one that it comes from stays."
    if plan.prompt:
        yield f'The prompt is offered again: "{outcomes.short(plan.prompt)}"'


def question(proposal: Proposal, plan: Plan) -> str:
    """Returns the question that a plan asks, or says that there is nothing to ask."""
    if plan.does_nothing:
        return outcomes.nothing_to_do(plan)
    return outcomes.question(proposal.kind, plan, proposal.of)


def way_to_keep(what: Kept, plan: Plan) -> str:
    """Names a way to keep more than a plan does."""
    if what == ALL_OTHERS:
        return "Take back only what its own session changed"
    return "Keep your own edit" if len(plan.outside) == 1 else "Keep your own edits"


def verb(proposal: Proposal, plan: Plan) -> str:
    """Returns what the confirming key does, in a few words."""
    files = count(plan.files, "file")
    verb = proposal.kind.capitalize()
    if proposal.of is not None:
        return f"{verb} the {proposal.of.kind} ({files})"
    if proposal.directory is not None:
        return f"{verb} into the new directory"
    if plan.scope == FILES:
        return f"{verb} {files}"
    if plan.scope == CONVERSATION:
        return f"{verb} the conversation"
    return f"{verb} {files} and the conversation"


def under_way(kind: OperationKind) -> str:
    """Returns what is said while an operation runs."""
    return _DOING[kind]


def progress(what: str, step: tuple[str, int, int] | None, *, leaving: bool = False) -> str:
    """Returns how far an operation is, in one line."""
    line = what
    if step is not None:
        name, done, total = step
        line += f" {shown(name)} {done:,}" + (f" of {total:,}" if total else "")
    return f"{line} takeback ends when it is done." if leaving else line


def labelled(before: Checkpoint, after: Checkpoint) -> str:
    """Says which label a checkpoint has now."""
    if after.label is not None:
        return f"Labelled {label_words(after)}: {after.id}"
    if before.label is not None:
        return f"Took the label {label_words(before)} off: {after.id}"
    return f"There was no label on {after.id}"


# -- afterwards


def after_lines(outcome: Outcome, of: Move | None, no_resume: str | None = None) -> Iterator[str]:
    """Yields what was done, what was left alone, how to take it back, and then every path.

    ``no_resume`` is why the agent cannot be started from here.
    """
    if not outcome.whole:
        yield "Done in part:"
    yield from outcomes.outcome_lines(outcome, of)
    if outcome.resume is not None and no_resume is not None:
        yield f"The agent cannot be started from here: {no_resume}."
    for heading, paths in (("Written", outcome.written), ("Deleted", outcome.deleted)):
        if paths:
            yield f"{heading}:"
        for path in paths:
            yield f"  {shown_file(path)}{'/' if path in outcome.directories else ''}"


def farewell(outcome: Outcome | None, of: Move | None) -> Iterator[str]:
    """Yields what the terminal shows of an operation when the picker has closed.

    Nothing if there was nothing to do, or if the plan has become outdated.
    """
    if outcome is not None and outcome.operation is not None:
        yield from outcomes.outcome_lines(outcome, of)


def several_done(number: int) -> str:
    """Says that there was more than one operation, before the last one is described."""
    return f"{number} operations were done; the last one:"


def resume_line(resume: Resume) -> str:
    """Returns the line that a person types to continue a session."""
    words = " ".join(quoted(word) for word in resume.argv)
    return f"cd {quoted(resume.cwd)} && {words}"


def no_resume(resume: Resume | None, *, found: bool) -> str | None:
    """Says why the agent cannot be resumed from here; None if it can."""
    if resume is None:
        return "no conversation was moved"
    if not resume.argv:
        return "takeback does not know its command"
    if resume.from_event:
        return "its line is not takeback's own; copy it with c, and run it if you trust it"
    if not found:
        return f"{shown(resume.argv[0])} is not on the PATH"
    return None


# -- when it goes wrong


def recovered(done: Recovered | None) -> list[str]:
    """Says what a recovery did, or that there was nothing left to recover."""
    return [OVER_MEANWHILE if done is None else shown(done.sentence())]


def trouble_lines(error: TakebackError, *, interrupted: bool) -> Iterator[str]:
    """Yields what went wrong, what state the files are in, and what to do about it."""
    yield f"{shown(error.message[:1].upper() + error.message[1:])}."
    if interrupted:
        yield INTERRUPTED
    elif not isinstance(error, (Bug, RecoveredInstead)):
        yield "No file was changed."
    if isinstance(error, Refused) and (error.refusals or error.flag):
        return  # an option of the command line; here the plan asks
    hint = in_picker(error)
    if hint:
        yield f"{hint[:1].upper() + hint[1:]}."
    if isinstance(error, Bug):
        yield "What is kept is not touched by it."


# -- the answers to an agent's extension: the documents, and the words that it shows


_PLAIN = Paint(on=False)


def place(entry: TimelineEntry) -> Document:
    """Returns one checkpoint as a list shows it; its id is a separate field, not in the line."""
    line = entry_words(entry, _PLAIN, time.time()).strip()
    return {**documents.timeline_entry(entry), "line": line}


def plan(proposal: Proposal, made: Plan) -> Document:
    """Returns a plan with its words."""
    ways = proposal.ways_to_keep(made)
    return {
        **documents.plan(made),
        "question": outcomes.question(proposal.kind, made, proposal.of),
        "lines": list(plans.plan_lines(made, _PLAIN, whole=False)),
        "can_keep_edits": EDITS in ways,
        "can_keep": list(ways),
        "questions": [_question(one, made) for one in plans.objections(made)],
        "disputes": [_dispute(one) for one in Disputes(made.conflicts, made.kind)],
        "possible": made.is_possible,
        "counts": f"{_files(made.writes)} written, {_files(made.deletes)} deleted",
    }


def _question(found: Refusal, made: Plan) -> Document:
    """Returns one refusal as a question: the objection, what going on means, the ways past it."""
    question = plans.refusal(found, made)
    return {
        "code": found.code,
        "title": question.title,
        "consequence": question.consequence,
        "answers": [{"waiver": one.field, "words": one.title} for one in question.answers],
        "paths": documents.path_list(question.paths),
        "word": question.word,
    }


def _dispute(found: Dispute) -> Document:
    """Returns one question about a conflict: the path, the words, what can be chosen."""
    conflict, stretch = found.conflict, found.stretch
    return {
        **documents.file_fields(conflict.path),
        "first": conflict.first,
        "question": f"{found.number} of {found.of}: {outcomes.title(conflict, found.kind)}",
        "lines": []
        if stretch is None
        else list(outcomes.stretch_lines(stretch, found.kind, _PLAIN)),
        "choices": [{"choice": name, "words": outcomes.choice(name)} for name in conflict.choices],
    }


def _files(changes: Sequence[Change]) -> int:
    """Returns how many of the changes do not concern directories."""
    entries = (change.new or change.old for change in changes)
    return sum(1 for entry in entries if entry is not None and not entry.is_directory)


def outcome(
    done: Outcome, of: Move | None, transcript: str | None, command: str = "takeback"
) -> Document:
    """Returns what was done, with its words. ``command`` is how a person calls takeback here."""
    told = done.replace(resume=None, prompt=None)  # the host goes there and offers the prompt
    return {
        **continued(done, transcript),
        "lines": [shown(line) for line in outcomes.outcome_lines(told, of, command=command)],
    }


def continued(done: Outcome, transcript: str | None) -> Document:
    """Returns what was done, and where the conversation continues, for a host that goes there.

    ``transcript`` is the file of the session to continue with. ``fresh`` says that it is a new,
    empty one. Neither is given if the conversation stays where it is. ``editor`` is the prompt that
    was taken back, as an editor may hold it.
    """
    return {
        **documents.outcome(done),
        "kind": done.kind,
        "whole": done.whole,
        "transcript": transcript,
        "fresh": transcript is None and done.session is None and done.resume is not None,
        "editor": None if done.prompt is None else editable(done.prompt),
    }


def told(outcome: Outcome, of: Move | None) -> Document:
    """Returns what was done, with its words: also how to go on, to be copied."""
    return {
        **documents.outcome(outcome),
        "kind": outcome.kind,
        "whole": outcome.whole,
        "lines": [shown(line) for line in outcomes.outcome_lines(outcome, of)],
    }


def counts(found: Status | None) -> Document:
    """Returns in one line how much is kept; no line if nothing is to be kept."""
    if found is None:
        return {"line": None, "can_undo": 0, "can_redo": 0}
    kept = f"{count(found.checkpoints, 'checkpoint')} / {count(found.snapshots, 'snapshot')}"
    return {"line": f"◆ {kept}", "can_undo": found.can_undo, "can_redo": found.can_redo}
