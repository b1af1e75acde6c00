"""takeback tree"""

from __future__ import annotations

import time

from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.terminal import paged
from takeback.words import documents
from takeback.words.sessions import tree_lines


@verb("tree")
def command(call: Call) -> int:
    """Show sessions and turns as a tree, and what was forked."""
    with call.open("tree") as tb:
        roots = tb.tree()
        output = call.output
        output.document("tree", {"sessions": [documents.node(root) for root in roots]})
        with paged(call, tb):
            output.lines(tree_lines(roots, output.paint, time.time()))
    if not roots and not call.json:
        output.line("No agent has worked here yet.")
    return 0
