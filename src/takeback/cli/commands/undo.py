"""takeback undo"""

from __future__ import annotations

import click

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import Dialogue, override_options, overrides, require_yes
from takeback.cli.options import completed_by, name_text, verb
from takeback.model.operation import FILES, UNDO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal


@verb("undo", shows=("--yes", "--dry-run"))
@click.argument(
    "operation",
    metavar="[OP]",
    type=name_text,
    required=False,
    shell_complete=completed_by("operations"),
)
@override_options
def command(call: Call, operation: str | None, **waived: bool) -> int:
    """Take back the last rewind: the files as they were before it.

    It can be repeated to go further back, and `takeback redo` goes forward again. With OP, an
    operation of `takeback log --operations`, the files go to before that one, and so all that
    came after it is taken back too; that is a rewind of its own, which undo takes back.
    """
    allowed = overrides(**waived)
    with call.open("undo", note=call.dry_run) as tb:
        if not call.dry_run:
            require_yes(call, "undo")
            proposal.recover_before(tb, UNDO)
        dialogue = Dialogue(call, tb, _proposal(tb, operation), allowed)
        return dialogue.show_plan() if call.dry_run else dialogue.ask_and_go()


def _proposal(tb: Engine, name: str | None) -> Proposal:
    """Returns the undo of the newest operation, or the way back to before a named one."""
    if name is not None:
        named = tb.operation(name)
        log = tb.operation_log()
        if not any(one.next == UNDO and one.operation.id == named.id for one in log):
            return proposal.rewind(tb.find(f"{named.id}.before"), scope=FILES)
    return proposal.next_step(tb, UNDO)
