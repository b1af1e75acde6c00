"""takeback undo"""

from __future__ import annotations

from takeback.app import errand
from takeback.cli.options import Call, verb
from takeback.cli.travel import Journey, override_options, overrides, require_yes


@verb("undo", shows=("--yes", "--dry-run"))
@override_options
def command(call: Call, **waived: bool) -> int:
    """Take back the last rewind: the files as they were before it.

    It can be repeated to go further back, and `takeback redo` goes forward again.
    """
    allowed = overrides(**waived)
    with call.open("undo", note=call.dry_run) as tb:
        if not call.dry_run:
            require_yes(call, "undo")
            tb.recover_instead_of("undo")
        journey = Journey(call, tb, errand.step("undo", tb.next_undo().operation), allowed)
        return journey.show_plan() if call.dry_run else journey.travel()
