"""takeback undo"""

from __future__ import annotations

import click

from takeback.app import errand
from takeback.cli.options import Call, completed_by, name_text, verb
from takeback.cli.travel import Journey, override_options, overrides, require_yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app import Takeback
    from takeback.app.errand import Errand


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
            tb.recover_instead_of("undo")
        journey = Journey(call, tb, _errand(tb, operation), allowed)
        return journey.show_plan() if call.dry_run else journey.travel()


def _errand(tb: Takeback, name: str | None) -> Errand:
    """Returns the undo of the newest operation, or the way to before one that is named."""
    if name is not None:
        named = tb.operation(name)
        log = tb.operation_log()
        if not any(one.next == "undo" and one.operation.id == named.id for one in log):
            return errand.rewind(tb.find(f"{named.id}.before"), scope="files")
    return errand.step("undo", tb.next_undo().operation)
