"""takeback rewind"""

from __future__ import annotations

import click

from takeback.cli.options import Call, name_text, verb
from takeback.cli.travel import Journey, override_options, overrides, require_yes


@verb("rewind", shows=("--yes", "--dry-run"), paths=True)
@click.argument("checkpoint", metavar="[CP]", type=name_text, default="@")
@click.option("--files", is_flag=True, help="The files only (there is nothing else yet).")
@click.option("--ignored", is_flag=True, help="Small files that git ignores, too.")
@override_options
def command(
    call: Call,
    checkpoint: str,
    files: bool,
    ignored: bool,
    paths: tuple[str, ...],
    **waived: bool,
) -> int:
    """Bring the files back to a checkpoint, by default the newest.

    The plan is shown and asked about first. Whatever is replaced or deleted is saved before,
    and `takeback undo` brings it back.
    """
    allowed = overrides(**waived)
    with call.open("rewind", note=call.dry_run) as tb:
        target = tb.find(checkpoint)
        journey = Journey(
            call,
            "rewind",
            plan=lambda: tb.plan(target, paths, ignored=ignored, overrides=allowed),
            go=lambda shown: tb.rewind(
                target, paths, ignored=ignored, overrides=allowed, shown=shown
            ),
        )
        if call.dry_run:
            return journey.show_plan()
        require_yes(call, "rewind")
        recovered = tb.recover()  # before the plan, which has to be about whole files
        if recovered is not None:
            call.output.note(recovered.sentence())
        return journey.travel()
