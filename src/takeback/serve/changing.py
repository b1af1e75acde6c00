"""What changes something, in two steps: a plan gives a nonce, and the nonce does it."""

from __future__ import annotations

import time

from takeback.app import proposal as proposals
from takeback.app.agreements import AGAIN, Agreement, PruneAgreement
from takeback.errors import Refused
from takeback.model.schemas import NAME, fields
from takeback.serve import proposing
from takeback.serve.endpoint import Asked, for_client, for_person
from takeback.serve.errors import Rejected
from takeback.words import answers
from takeback.words.text import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.serve.endpoint import Handler

    Document = dict[str, Any]

NOTHING = fields()
NONCE = fields(("nonce",), nonce=NAME)
LABEL = fields(
    ("checkpoint", "label"),
    checkpoint=NAME,
    session=NAME,
    label={"type": ["string", "null"], "minLength": 1, "maxLength": 200},
)


async def plan(asked: Asked) -> Document:
    """Works out what an operation would do; changes nothing."""
    workspace = asked.parameters["workspace"]

    def job(tb: Engine) -> tuple[Agreement, Document]:
        allowed = proposing.overrides(asked.body)
        meant = proposing.proposal(tb, asked.body)
        made = meant.plan(tb, allowed)
        return Agreement(meant, made, allowed, workspace), answers.plan(meant, made)

    agreement, fields = await for_client(asked, job)
    return shown_with_nonce(asked, fields, agreement)


def shown_with_nonce(
    asked: Asked, fields: Document, agreement: Agreement | PruneAgreement
) -> Document:
    """Returns a plan with its nonce."""
    nonce = asked.server.nonces.remember(agreement)
    ends = time.time() + asked.server.settings.nonce_seconds
    return {**fields, "nonce": nonce, "expires": timestamp(ends)}


def action(kind: str) -> Handler:
    """Returns the handler that does what a plan of that kind said."""

    async def handler(asked: Asked) -> Document:
        workspace = asked.parameters["workspace"]
        agreed = asked.server.nonces.take(asked.body["nonce"])
        if not isinstance(agreed, Agreement) or agreed.workspace != workspace:
            raise Refused("that plan is of something else", hint=AGAIN)
        if agreed.proposal.kind != kind:
            raise Refused(f"that is no plan of {_article(kind)}", hint=AGAIN)
        fields = await for_person(asked, _article(kind), lambda tb: _carry_out(tb, agreed))
        return {**fields, "notes": asked.server.workspaces.notes(workspace)}

    return handler


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _carry_out(tb: Engine, agreed: Agreement) -> Document:
    meant = agreed.proposal
    recovered = proposals.recover_before(tb, meant.kind)
    done = meant.go(tb, agreed.overrides, shown=agreed.plan)
    if done is None:
        first = "" if recovered is None else f"{recovered.sentence()} "
        raise outdated(f"{first}The files changed since that plan was made; nothing was done")
    return answers.told(done, meant.of)


async def recover(asked: Asked) -> Document:
    """Finishes or rolls back what was interrupted, as the next operation would do first."""
    done = await for_person(asked, "a recovery", lambda tb: tb.recover())
    return {"recovered": done is not None, "lines": [] if done is None else [done.sentence()]}


def outdated(message: str) -> Rejected:
    return Rejected(409, "outdated", message, hint=AGAIN)


async def label(asked: Asked) -> Document:
    """Gives a checkpoint a name, or takes it off."""

    def job(tb: Engine) -> Document:
        before = tb.find(asked.body["checkpoint"], session=asked.body.get("session"))
        after = tb.label(before, asked.body["label"])
        label = {"label": after.label, "label_by": after.label_by, "before": before.label}
        return {"id": after.id, **label}

    return await for_person(asked, "a label", job)
