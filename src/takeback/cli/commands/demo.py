"""takeback demo"""

from __future__ import annotations

import os
import sys
import time

import click

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.terminal import is_terminal
from takeback.words import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.cli.demo.performance import Performance

_PAUSE = 0.7


@verb("demo")
@click.option("--dir", "base", metavar="DIR", help="A new or empty directory to play in.")
@click.option("--fast", is_flag=True, help="No pauses.")
def command(call: Call, base: str | None, fast: bool) -> int:
    """Show takeback at work in a throw-away directory.

    A scripted agent works three turns on a scratch project, the last one a disaster. Then the
    turns are taken back, files and conversation, every path is compared with how it was, and a
    fork goes another way.
    """
    from takeback.cli.demo.performance import Performance, make_stage
    from takeback.gate.asker import refuse_inside

    if base is not None:
        refuse_inside("a demo in a directory of one's choice", os.environ)
    output = call.output
    slow = not fast and not call.quiet and not call.json and is_terminal(sys.stdout)

    def say(line: str) -> None:
        output.done([line])
        sys.stdout.flush()

    def pause() -> None:
        if slow:
            time.sleep(_PAUSE)

    performance = Performance(make_stage(base), say, pause, output.paint)
    held = performance.play()
    output.document("demo", _fields(performance, held=held))
    output.done(performance.closing())
    if not held:
        output.line("A proof failed; this is a bug in takeback.")
    return 0 if held else 1


def _fields(performance: Performance, *, held: bool) -> documents.Document:
    return {
        "project": performance.project,
        "store": performance.store_home,
        "checkpoints": performance.checkpoints,
        "proofs": [
            {
                "what": proof.what,
                "held": proof.held,
                "compared": proof.compared,
                "differing": documents.path_list(proof.differing),
            }
            for proof in performance.proofs
        ],
        "held": held,
        "bytes": performance.project_bytes,
        "store_bytes": performance.store_bytes,
    }
