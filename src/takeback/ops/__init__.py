"""The use cases, one per file. Every face calls these and nothing below them.

An operation is imported on first use (``ops.rewind``): opening a workspace and making a checkpoint
needs a fifth of them, and sqlite3 and datetime alone cost 15 ms.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops import (
        bisect,
        blame,
        branches,
        browse,
        carry,
        cat,
        catch_up,
        checkpoint,
        child,
        choices,
        closing,
        cut,
        destination,
        diff,
        doctor,
        earlier,
        edits,
        elsewhere,
        facts,
        failures,
        finish,
        forget,
        green,
        here,
        inspection,
        keeping,
        kept,
        label,
        names,
        open,
        operation_log,
        parcels,
        picking,
        plan,
        preview,
        prune,
        receive,
        recover,
        request,
        restore,
        revert,
        rewind,
        round_trip,
        scope,
        search,
        sessions,
        standing,
        status,
        sweep,
        sweeping,
        timeline,
        transcript,
        turn_names,
        undo,
        upkeep,
        verify,
        whereabouts,
        whose,
    )

    __all__ = [
        "bisect",
        "blame",
        "branches",
        "browse",
        "carry",
        "cat",
        "catch_up",
        "checkpoint",
        "child",
        "choices",
        "closing",
        "cut",
        "destination",
        "diff",
        "doctor",
        "earlier",
        "edits",
        "elsewhere",
        "facts",
        "failures",
        "finish",
        "forget",
        "green",
        "here",
        "inspection",
        "keeping",
        "kept",
        "label",
        "names",
        "open",
        "operation_log",
        "parcels",
        "picking",
        "plan",
        "preview",
        "prune",
        "receive",
        "recover",
        "request",
        "restore",
        "revert",
        "rewind",
        "round_trip",
        "scope",
        "search",
        "sessions",
        "standing",
        "status",
        "sweep",
        "sweeping",
        "timeline",
        "transcript",
        "turn_names",
        "undo",
        "upkeep",
        "verify",
        "whereabouts",
        "whose",
    ]
else:

    def __getattr__(name):
        full = f"{__name__}.{name}"
        try:
            __import__(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
            raise AttributeError(f"module {__name__!r} has no operation {name!r}") from None
        return sys.modules[full]
