"""What can be done at a place, what is asked before that, and what is said when it goes wrong.

The picker and the numbered list say the same; each has its own keys and colours.
"""

from __future__ import annotations

from takeback.errors import RecoveredInstead, Refused, TakebackError
from takeback.model.operation import CONVERSATION, FILES, FORK, REDO, REWIND, UNDO
from takeback.model.plan import DURING_TURN, MASS_DELETE, OTHERS
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words import errors, plans, render
from takeback.words.text import count, quoted, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.app.actions import Action, ActionName, Obstacle
    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Move, OperationKind
    from takeback.model.plan import Outcome, Plan, Refusal, RefusalCode
    from takeback.model.policy import Waiver
    from takeback.model.session import Resume
    from takeback.ops.recover import Recovered
    from takeback.words.paint import Paint

NOTHING_CHANGED = "Nothing was changed."
NEW_PLAN = "The files changed meanwhile; this is the new plan."
STEP_BACK = "Step back"
GO_ON = "Go on all the same"
ANSWER_FIRST = "Answer what speaks against it"
NOT_WAIVED = "Nothing waives this. " + NOTHING_CHANGED
DELETE = "delete"
"""The word that has to be typed before most of the files are deleted."""

INTERRUPTED = (
    "An operation was interrupted here, or another process is in the middle of one. "
    "Each file is its old or its new version, and nothing is lost. "
    "Recovering finishes the operation, or rolls it back if it cannot be finished."
)
OVER_MEANWHILE = "Nothing is interrupted any more: it ended meanwhile."

_TITLES: dict[ActionName, str] = {
    "both": "Files and conversation",
    "conversation": "The conversation only",
    "files": "The files only",
    "ticked": "Only the ticked files",
    "end": "To the end of this turn instead",
    "before": "To before this turn instead",
    "fork": "Fork: a new session with this conversation",
    "fork files": "Fork, and the files here go back too",
    "fork directory": "Fork into a new directory, with its files",
    "label": "Label it",
    "copy": "Copy its id",
    "undo": "Undo the last rewind",
    "redo": "Redo what was undone",
    "cancel": "Cancel",
}
"""What a person can choose at a place, by name; the operations themselves are in ops/."""
_OBSTACLES: dict[Obstacle, str] = {
    "no_conversation": "there is no conversation",
    "no_tick": "no file is ticked",
    "no_end": "the turn has no end yet",
    "nothing_to_undo": "nothing to undo",
    "nothing_to_redo": "nothing to redo",
}
LABEL_ABOUT = "A name that finds it again. An empty line takes the label off."
DIRECTORY = "Fork into which directory?"
DIRECTORY_ABOUT = "One that is not there yet, outside this workspace."
LOOKING = "Looking what can be done…"
PLANNING = "Working out the plan…"
RECOVERING = "Recovering…"
_DOING = {REWIND: "Rewinding…", UNDO: "Undoing…", REDO: "Redoing…", FORK: "Forking…"}


class Answer(Value):
    """One way to answer a refusal: its words, and the field of ``Overrides`` that it sets."""

    title: str
    field: Waiver


class Question(Value):
    """A refusal as a question of its own: the objection, and what going on means.

    Without ``answers`` it cannot be waived. ``paths`` are those that it is about, ``word`` has to
    be typed before the first answer counts.
    """

    title: str
    consequence: str
    answers: tuple[Answer, ...]
    paths: tuple[bytes, ...] = ()
    word: str | None = None


_CONSEQUENCES: dict[RefusalCode, str] = {
    "during_turn": (
        "It may write the same files again while they go back, or after, and what it then "
        "writes is in no plan that was shown here."
    ),
    "others": "Overwritten, their versions are saved first, and undo brings them back.",
    "mass_delete": "Each is saved first, and undo brings it back.",
    "during_git": (
        "The files go back; what git is in the middle of stays, and may then be about files "
        "that are no longer as it left them."
    ),
    "other_branch": (
        "The files of then come onto the branch of now; branch and commits stay as they are."
    ),
}
_WAYS: dict[Waiver, str] = {
    "during_turn": GO_ON,
    "keep_others": "Leave them as they are, take back the rest",
    "overwrite_others": "Overwrite them",
    "mass_delete": "Delete them",
    "during_git": GO_ON,
    "other_branch": GO_ON,
}
_AGREED: dict[Waiver, str] = {
    "during_turn": "although an agent is working here",
    "keep_others": "what another session changed is left as it is",
    "overwrite_others": "also what another session changed",
    "mass_delete": "although most of the files are deleted",
    "during_git": "although git is in the middle of something",
    "other_branch": "although another branch is checked out",
}


ANSWERABLE = tuple(_AGREED)
"""The fields of ``Overrides`` that an answer can set."""


def refusal(found: Refusal, plan: Plan) -> Question:
    """Returns a refusal of a plan as a question."""
    message = shown(found.message)
    if found.code != DURING_TURN:  # that one begins with the agent's name
        message = message[:1].upper() + message[1:]
    title = f"{message}."
    answers = tuple(Answer(_WAYS[one], one) for one in found.waivers)
    if not answers:
        return Question(title, NOT_WAIVED, ())
    return Question(
        title,
        _CONSEQUENCES[found.code],
        answers,
        paths=plan.others if found.code == OTHERS else (),
        word=DELETE if found.code == MASS_DELETE else None,
    )


def refused_lines(plan: Plan) -> Iterator[str]:
    """Yields the objections to a plan, and whether they can be answered."""
    for found in plan.refused:
        yield f"refused: {refusal(found, plan).title}"
    if any(not refusal(found, plan).answers for found in plan.refused):
        yield "It cannot be done now."
    elif plan.refused:
        yield questions_first(plan)


def questions_first(plan: Plan) -> str:
    """Says how many questions have to be answered before a refused plan can be carried out."""
    return f"It can be done all the same; {count(plan.refused, 'question')} first."


def type_it(word: str) -> str:
    """Says which word has to be typed."""
    return f"Type the word {word} to go on:"


def not_it(typed: str) -> str:
    """Says that another word was typed."""
    return f'"{shown(typed.strip())}" is not the word.' if typed.strip() else "No word was typed."


def can_be_answered(plan: Plan) -> bool:
    """Tells whether every refusal of a plan can be waived, one by one."""
    return all(refusal(found, plan).answers for found in plan.refused)


def agreed_lines(fields: Sequence[Waiver]) -> Iterator[str]:
    """Yields what was agreed to before this plan was made."""
    if fields:
        yield "You agreed:"
    for field in fields:
        yield f"  {_AGREED[field]}"


def plan_lines(proposal: Proposal, plan: Plan, paint: Paint) -> Iterator[str]:
    """Yields a whole plan without its refusals: what happens to which file."""
    if proposal.directory is not None:
        yield f"Its files go into {shown(proposal.directory)}; those here stay as they are."
    elif plan.scope == CONVERSATION:
        yield "The files stay as they are."
    elif plan.is_empty and not plan.does_nothing and plan.is_possible:
        yield "The files are already there; none changes."
    yield from plans.plan_lines(plan.replace(refused=()), paint, whole=True)
    if plan.scope != FILES and proposal.of is None:
        yield "The conversation goes on as a new session; the one that it comes from stays."
    if plan.prompt:
        yield f'The prompt is offered again: "{render.short(plan.prompt)}"'


def question(proposal: Proposal, plan: Plan) -> str:
    """Returns the question that a plan asks, or says that there is nothing to ask."""
    if plan.does_nothing:
        return render.nothing_to_do(plan)
    return render.question(proposal.kind, plan, proposal.of)


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


def title(action: Action) -> str:
    """Returns what a person can choose, in words."""
    if action.of is not None:
        of = action.of
        way = "from" if of.kind == FORK else "to"
        where = shown(of.where)
        return f"{action.name.capitalize()} the last {of.kind}, {way} {where}"
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


def labelled(before: Checkpoint, after: Checkpoint) -> str:
    """Says which label a checkpoint has now."""
    if after.label is not None:
        return f"Labelled {shown(after.label)}: {after.id}"
    if before.label is not None:
        return f"Took the label {shown(before.label)} off: {after.id}"
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
            yield f"  {shown_path(path)}{'/' if path in outcome.directories else ''}"


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
        return "its line came from the agent itself; copy it with c, and run it if you trust it"
    if not found:
        return f"{shown(resume.argv[0])} is not on the PATH"
    return None


# -- when it goes wrong


def recovered(done: Recovered | None) -> list[str]:
    """Says what a recovery did, or that there was nothing left to recover."""
    return [OVER_MEANWHILE if done is None else shown(done.sentence())]


def trouble_lines(error: Exception, *, interrupted: bool) -> Iterator[str]:
    """Yields what went wrong, what state the files are in, and what to do about it."""
    if isinstance(error, TakebackError):
        yield f"{shown(error.message[:1].upper() + error.message[1:])}."
    else:
        yield f"This is a bug in takeback: {type(error).__name__}: {shown(str(error))}"
    if interrupted:
        yield INTERRUPTED
    elif isinstance(error, TakebackError) and not isinstance(error, RecoveredInstead):
        yield "No file was changed."
    if isinstance(error, Refused) and (error.refusals or error.flag):
        return  # an option of the command line; here the plan asks
    if isinstance(error, TakebackError):
        hint = errors.in_picker(error)
        if hint:
            yield f"{hint[:1].upper() + hint[1:]}."
    else:
        yield "Please report it with what you did. What is kept is not touched by it."
