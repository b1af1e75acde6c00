"""takeback doctor"""

from __future__ import annotations

import click

from takeback.cli.options import Call, name_text, verb
from takeback.errors import NotAWorkspace
from takeback.ops.doctor import BROKEN, OK, offers
from takeback.visible import shown
from takeback.words.errors import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops.doctor import Finding


@verb("doctor")
@click.option("--rebuild", is_flag=True, help="Make the ledger anew from the store.")
@click.option(
    "--adopt",
    metavar="[NAME]",
    type=name_text,
    is_flag=False,
    flag_value="",
    help="Take over the store of what stood here before; NAME where there are several.",
)
def command(call: Call, rebuild: bool, adopt: str | None) -> int:
    """Name what is wrong, and mend what can safely be mended."""
    call.refuse_dry_run("doctor", hint="to look only: takeback verify, takeback status")
    from takeback.app.engine import Engine

    if adopt is not None:
        Engine.adopt(adopt)
    try:
        with call.open("doctor", note=False) as tb:
            found = tb.doctor(rebuild=rebuild)
    except NotAWorkspace as error:
        if not error.new:
            raise
        found = [*Engine.unopened().doctor(), *offers(Engine.earlier())]
    for finding in found:
        _print(call, finding)
    return 1 if any(finding.state == BROKEN for finding in found) else 0


def _print(call: Call, finding: Finding) -> None:
    output = call.output
    fields = {
        "about": finding.about,
        "state": finding.state,
        "message": finding.message,
        "hint": command_line(finding.hint),
    }
    output.document("finding", fields)
    if call.quiet and finding.state == OK:
        return
    colored = {OK: output.paint.added, BROKEN: output.paint.deleted}
    state = colored.get(finding.state, output.paint.warning)(f"{finding.state:<6}")
    output.line(f"{state}  {finding.about}: {shown(finding.message)}")
    if finding.hint:
        output.line(f"        {command_line(finding.hint)}")
