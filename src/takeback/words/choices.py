"""What can be done at a place, what is asked before that, and what is said when it goes wrong.

The picker and the numbered list say the same; each has its own keys and colours.
"""

from __future__ import annotations

from takeback.errors import Bug, RecoveredInstead, Refused, TakebackError
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
)
from takeback.rewind.request import ALL_OTHERS, EDITS
from takeback.visible import shown
from takeback.words import errors, plans, render
from takeback.words.text import count, quoted, shown_file
from takeback.words.waivers import Ways

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Checkpoint, Resume
    from takeback.model.operation import Move, OperationKind, Outcome, Plan
    from takeback.rewind.request import Kept
    from takeback.rewind.rewind import Recovered
    from takeback.words.paint import Paint

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
        yield f'The prompt is offered again: "{render.short(plan.prompt)}"'


def question(proposal: Proposal, plan: Plan) -> str:
    """Returns the question that a plan asks, or says that there is nothing to ask."""
    if plan.does_nothing:
        return render.nothing_to_do(plan)
    return render.question(proposal.kind, plan, proposal.of)


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
    yield from render.outcome_lines(outcome, of)
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
        yield from render.outcome_lines(outcome, of)


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
    hint = errors.in_picker(error)
    if hint:
        yield f"{hint[:1].upper() + hint[1:]}."
    if isinstance(error, Bug):
        yield "What is kept is not touched by it."
