"""The answers to an agent's extension: the documents, and the words that it shows."""

from __future__ import annotations

import time

from takeback.app.disputes import Disputes
from takeback.rewind.request import EDITS
from takeback.visible import editable, shown
from takeback.words import conflicts, documents, plans, refusals, render
from takeback.words.listing import entry_words
from takeback.words.paint import Paint
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from takeback.app.disputes import Dispute
    from takeback.app.proposal import Proposal
    from takeback.model.checkpoint import Change
    from takeback.model.operation import Move, Outcome, Plan, Refusal
    from takeback.timeline.look import Status
    from takeback.timeline.timeline import TimelineEntry

    Document = dict[str, Any]

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
        "question": render.question(proposal.kind, made, proposal.of),
        "lines": list(plans.plan_lines(made, _PLAIN, whole=False)),
        "can_keep_edits": EDITS in ways,
        "can_keep": list(ways),
        "questions": [_question(one, made) for one in refusals.objections(made)],
        "disputes": [_dispute(one) for one in Disputes(made.conflicts, made.kind)],
        "possible": made.is_possible,
        "counts": f"{_files(made.writes)} written, {_files(made.deletes)} deleted",
    }


def _question(found: Refusal, made: Plan) -> Document:
    """Returns one refusal as a question: the objection, what going on means, the ways past it."""
    question = refusals.refusal(found, made)
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
        "question": f"{found.number} of {found.of}: {conflicts.title(conflict, found.kind)}",
        "lines": []
        if stretch is None
        else list(conflicts.stretch_lines(stretch, found.kind, _PLAIN)),
        "choices": [{"choice": name, "words": conflicts.choice(name)} for name in conflict.choices],
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
        "lines": [shown(line) for line in render.outcome_lines(told, of, command=command)],
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
        "lines": [shown(line) for line in render.outcome_lines(outcome, of)],
    }


def counts(found: Status | None) -> Document:
    """Returns in one line how much is kept; no line if nothing is to be kept."""
    if found is None:
        return {"line": None, "can_undo": 0, "can_redo": 0}
    kept = f"{count(found.checkpoints, 'checkpoint')} / {count(found.snapshots, 'snapshot')}"
    return {"line": f"◆ {kept}", "can_undo": found.can_undo, "can_redo": found.can_redo}
