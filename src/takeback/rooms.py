"""The rooms that the app has a door to, by name; each is imported when it is first used.

Opening a workspace and making a checkpoint needs a fifth of them, and sqlite3 and datetime alone
cost 15 ms.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback import blame as blame
    from takeback.bisect import bisect as bisect
    from takeback.check import check as check
    from takeback.check import doctor as doctor
    from takeback.fork import fork as fork
    from takeback.fork import session_file as session_file
    from takeback.fork import summary as summary
    from takeback.merge import picking as picking
    from takeback.merge import revert as revert
    from takeback.ops import belated as belated
    from takeback.ops import capture as capture
    from takeback.ops import catch_up as catch_up
    from takeback.ops import checkpoint as checkpoint
    from takeback.ops import closing as closing
    from takeback.ops import deeds as deeds
    from takeback.ops import earlier as earlier
    from takeback.ops import failures as failures
    from takeback.ops import finish as finish
    from takeback.ops import forget as forget
    from takeback.ops import index as index
    from takeback.ops import lagging as lagging
    from takeback.ops import left_running as left_running
    from takeback.ops import listening as listening
    from takeback.ops import open as open
    from takeback.ops import receive as receive
    from takeback.ops import running as running
    from takeback.ops import settings as settings
    from takeback.ops import transcript as transcript
    from takeback.ops import watch as watch
    from takeback.retention import prune as prune
    from takeback.retention import sweep as sweep
    from takeback.retention import trash as trash
    from takeback.rewind import plan as plan
    from takeback.rewind import prepare as prepare
    from takeback.rewind import refuse as refuse
    from takeback.rewind import rewind as rewind
    from takeback.timeline import conversation as conversation
    from takeback.timeline import look as look
    from takeback.timeline import names as names
    from takeback.timeline import operations as operations
    from takeback.timeline import sessions as sessions
    from takeback.timeline import timeline as timeline
else:
    _WHERE = {
        "belated": "takeback.ops.belated",
        "bisect": "takeback.bisect.bisect",
        "blame": "takeback.blame",
        "capture": "takeback.ops.capture",
        "catch_up": "takeback.ops.catch_up",
        "check": "takeback.check.check",
        "checkpoint": "takeback.ops.checkpoint",
        "closing": "takeback.ops.closing",
        "conversation": "takeback.timeline.conversation",
        "deeds": "takeback.ops.deeds",
        "doctor": "takeback.check.doctor",
        "earlier": "takeback.ops.earlier",
        "failures": "takeback.ops.failures",
        "finish": "takeback.ops.finish",
        "forget": "takeback.ops.forget",
        "fork": "takeback.fork.fork",
        "index": "takeback.ops.index",
        "lagging": "takeback.ops.lagging",
        "left_running": "takeback.ops.left_running",
        "listening": "takeback.ops.listening",
        "look": "takeback.timeline.look",
        "names": "takeback.timeline.names",
        "open": "takeback.ops.open",
        "operations": "takeback.timeline.operations",
        "picking": "takeback.merge.picking",
        "plan": "takeback.rewind.plan",
        "prepare": "takeback.rewind.prepare",
        "prune": "takeback.retention.prune",
        "receive": "takeback.ops.receive",
        "refuse": "takeback.rewind.refuse",
        "revert": "takeback.merge.revert",
        "rewind": "takeback.rewind.rewind",
        "running": "takeback.ops.running",
        "session_file": "takeback.fork.session_file",
        "sessions": "takeback.timeline.sessions",
        "settings": "takeback.ops.settings",
        "summary": "takeback.fork.summary",
        "sweep": "takeback.retention.sweep",
        "timeline": "takeback.timeline.timeline",
        "transcript": "takeback.ops.transcript",
        "trash": "takeback.retention.trash",
        "watch": "takeback.ops.watch",
    }

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"there is no room {name!r}")
        __import__(_WHERE[name])
        return sys.modules[_WHERE[name]]
