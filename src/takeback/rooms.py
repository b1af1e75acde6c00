"""The rooms that the app has a door to, by name; each is imported when it is first used.

Opening a workspace and making a checkpoint needs a fifth of them, and sqlite3 and datetime alone
cost 15 ms.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback import blame as blame
    from takeback import context as context
    from takeback import workspaces as workspaces
    from takeback.bisect import bisect as bisect
    from takeback.capture import capture as capture
    from takeback.capture import watching as watching
    from takeback.check import check as check
    from takeback.check import doctor as doctor
    from takeback.check import settings as settings
    from takeback.fork import fork as fork
    from takeback.fork import session_file as session_file
    from takeback.fork import summary as summary
    from takeback.ledger import follow as follow
    from takeback.merge import deeds as deeds
    from takeback.merge import picking as picking
    from takeback.merge import revert as revert
    from takeback.retention import due as due
    from takeback.retention import earlier as earlier
    from takeback.retention import prune as prune
    from takeback.retention import sweep as sweep
    from takeback.retention import trash as trash
    from takeback.rewind import plan as plan
    from takeback.rewind import prepare as prepare
    from takeback.rewind import refuse as refuse
    from takeback.rewind import request as request
    from takeback.rewind import review as review
    from takeback.rewind import rewind as rewind
    from takeback.timeline import look as look
    from takeback.timeline import names as names
    from takeback.timeline import operations as operations
    from takeback.timeline import sessions as sessions
    from takeback.timeline import timeline as timeline
    from takeback.timeline import transcripts as transcripts
    from takeback.turns import ends as ends
    from takeback.turns import left_running as left_running
    from takeback.turns import making as making
    from takeback.turns import receive as receive
    from takeback.turns import running as running
    from takeback.turns import said as said
else:
    _WHERE = {
        "bisect": "takeback.bisect.bisect",
        "blame": "takeback.blame",
        "capture": "takeback.capture.capture",
        "check": "takeback.check.check",
        "context": "takeback.context",
        "deeds": "takeback.merge.deeds",
        "doctor": "takeback.check.doctor",
        "due": "takeback.retention.due",
        "earlier": "takeback.retention.earlier",
        "ends": "takeback.turns.ends",
        "follow": "takeback.ledger.follow",
        "fork": "takeback.fork.fork",
        "left_running": "takeback.turns.left_running",
        "look": "takeback.timeline.look",
        "making": "takeback.turns.making",
        "names": "takeback.timeline.names",
        "operations": "takeback.timeline.operations",
        "picking": "takeback.merge.picking",
        "plan": "takeback.rewind.plan",
        "prepare": "takeback.rewind.prepare",
        "prune": "takeback.retention.prune",
        "receive": "takeback.turns.receive",
        "refuse": "takeback.rewind.refuse",
        "request": "takeback.rewind.request",
        "revert": "takeback.merge.revert",
        "review": "takeback.rewind.review",
        "rewind": "takeback.rewind.rewind",
        "running": "takeback.turns.running",
        "said": "takeback.turns.said",
        "session_file": "takeback.fork.session_file",
        "sessions": "takeback.timeline.sessions",
        "settings": "takeback.check.settings",
        "summary": "takeback.fork.summary",
        "sweep": "takeback.retention.sweep",
        "timeline": "takeback.timeline.timeline",
        "transcripts": "takeback.timeline.transcripts",
        "trash": "takeback.retention.trash",
        "watching": "takeback.capture.watching",
        "workspaces": "takeback.workspaces",
    }

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"there is no room {name!r}")
        __import__(_WHERE[name])
        return sys.modules[_WHERE[name]]
