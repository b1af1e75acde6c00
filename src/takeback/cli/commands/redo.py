"""takeback redo"""

from __future__ import annotations

from takeback.app import proposal
from takeback.cli.call import Call
from takeback.cli.dialogue import Dialogue, override_options, overrides, require_yes
from takeback.cli.options import verb
from takeback.model.operation import REDO


@verb("redo", shows=("--yes", "--dry-run"))
@override_options
def command(call: Call, **waived: bool) -> int:
    """Do again what the last undo took back."""
    allowed = overrides(**waived)
    with call.open("redo", note=call.dry_run) as tb:
        if not call.dry_run:
            require_yes(call, "redo")
            proposal.recover_before(tb, REDO)
        dialogue = Dialogue(call, tb, proposal.next_step(tb, REDO), allowed)
        return dialogue.show_plan() if call.dry_run else dialogue.ask_and_go()
