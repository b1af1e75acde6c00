"""What makes room, in two steps, and what brings back what was dropped."""

from __future__ import annotations

from takeback.app.agreements import AGAIN, PruneAgreement
from takeback.errors import Refused, UsageError
from takeback.model.schemas import NAME, fields, strings
from takeback.serve.changing import outdated, shown_with_nonce
from takeback.serve.endpoint import Asked, for_client, for_person, looking
from takeback.words import documents, pruning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.retention.prune import Prune, Pruning
    from takeback.retention.sweep import Together

    Document = dict[str, Any]

PRUNE = fields((), session=NAME, checkpoints=strings(NAME, 1000), all={"type": "boolean"})
RESTORE = fields((), id=NAME)


async def plan_prune(asked: Asked) -> Document:
    """Says which checkpoints would lose their files; drops nothing."""
    workspace, body = asked.parameters["workspace"], asked.body
    names, session = body.get("checkpoints", []), body.get("session")
    everything = body.get("all", False)
    if everything and session is None:
        raise UsageError("all goes with a session", hint="say which session")
    if names and session is not None:
        raise UsageError("checkpoints and a session exclude each other", hint="say one of them")

    def planning(tb: Engine) -> Prune:
        return tb.plan_prune(names, session=session, everything=everything)

    def job(tb: Engine) -> tuple[Pruning, list[bytes], Together | None]:
        planned = planning(tb)
        stores = tb.all_stores() if planned.is_by_settings else None
        return planned.outlook(), tb.gone_workspaces(), stores

    outlook, gone, stores = await for_client(asked, job)
    fields = {
        **pruning.document(outlook),
        "done": False,
        "gone": [documents.path_fields(root) for root in gone],
        "goes": pruning.reasons_dropped(outlook),
        "stays": pruning.reasons_pinned(outlook),
        "together": pruning.together_document(stores),
        "lines": [*pruning.outlook_lines(outlook), *pruning.together_lines(stores)],
    }
    return shown_with_nonce(asked, fields, PruneAgreement(planning, outlook, workspace))


async def prune(asked: Asked) -> Document:
    """Drops the files of the checkpoints that the plan named."""
    workspace = asked.parameters["workspace"]
    agreed = asked.server.nonces.take(asked.body["nonce"])
    if not isinstance(agreed, PruneAgreement) or agreed.workspace != workspace:
        raise Refused("that plan is of something else", hint=AGAIN)

    def job(tb: Engine) -> Document:
        done = agreed.carry_out(tb)
        if done is None:
            raise outdated("Other checkpoints would go now; nothing was dropped")
        lines = list(pruning.done_lines(done, tb.settings["grace_days"]))
        return {**pruning.document(done), "done": True, "gone": [], "lines": lines}

    fields = await for_person(asked, "a prune", job)
    return {**fields, "notes": asked.server.workspaces.notes(workspace)}


@looking
def trash(tb: Engine, asked: Asked) -> Document:
    """Lists what was dropped and can be brought back, the newest first."""
    there = pruning.trash_documents(tb.trash())[::-1]
    return {"trash": there, "grace_days": tb.settings["grace_days"]}


async def restore(asked: Asked) -> Document:
    """Brings back what was dropped: by the id of a prune or a checkpoint, else the newest."""

    def job(tb: Engine) -> Document:
        made = tb.restore(asked.body.get("id"))
        return {**pruning.restored(made), "lines": list(pruning.restored_lines(made))}

    return await for_person(asked, "bringing back what was pruned", job)
