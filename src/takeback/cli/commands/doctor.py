"""takeback doctor"""

from __future__ import annotations

import click

from takeback.check.doctor import offers
from takeback.check.finding import BROKEN, OK
from takeback.cli.call import Call
from takeback.cli.options import name_text, verb
from takeback.errors import NotAWorkspace
from takeback.words import status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.check.finding import Finding


@verb("doctor")
@click.option("--fix", is_flag=True, help="Mend what can safely be mended.")
@click.option("--rebuild", is_flag=True, help="Make the ledger anew from the store.")
@click.option(
    "--adopt",
    metavar="[NAME]",
    type=name_text,
    is_flag=False,
    flag_value="",
    help="Take over the store of what stood here before; NAME where there are several.",
)
def command(call: Call, fix: bool, rebuild: bool, adopt: str | None) -> int:
    """Name what is wrong; with --fix mend what can be."""
    call.refuse_dry_run("doctor", hint="to look only: takeback verify, takeback status")
    from takeback.app.engine import Engine

    if adopt is not None:
        Engine.adopt(adopt)
    try:
        with call.open("doctor", note=False) as tb:
            found = tb.doctor(rebuild=rebuild, fix=fix)
    except NotAWorkspace as error:
        unopened = Engine.unopened(after=error)
        found = [*unopened.doctor(fix=fix), *offers(unopened.earlier())]
    for finding in found:
        _print(call, finding)
    return 1 if any(finding.state == BROKEN for finding in found) else 0


def _print(call: Call, found: Finding) -> None:
    call.output.document("finding", status.finding(found))
    if not (call.quiet and found.state == OK):
        call.output.lines(status.finding_lines(found, call.output.paint))
