"""The rooms that the app has a door to, by name; each is imported when it is first used.

Opening a workspace and making a checkpoint needs a fifth of them, and sqlite3 and datetime alone
cost 15 ms.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.ops import belated as belated
    from takeback.ops import bisect as bisect
    from takeback.ops import blame as blame
    from takeback.ops import branches as branches
    from takeback.ops import browse as browse
    from takeback.ops import capture as capture
    from takeback.ops import carry as carry
    from takeback.ops import cat as cat
    from takeback.ops import catch_up as catch_up
    from takeback.ops import checkpoint as checkpoint
    from takeback.ops import child as child
    from takeback.ops import choices as choices
    from takeback.ops import closing as closing
    from takeback.ops import conversation_pages as conversation_pages
    from takeback.ops import cut as cut
    from takeback.ops import deeds as deeds
    from takeback.ops import destination as destination
    from takeback.ops import diff as diff
    from takeback.ops import doctor as doctor
    from takeback.ops import due as due
    from takeback.ops import earlier as earlier
    from takeback.ops import edits as edits
    from takeback.ops import elsewhere as elsewhere
    from takeback.ops import facts as facts
    from takeback.ops import failures as failures
    from takeback.ops import finish as finish
    from takeback.ops import forget as forget
    from takeback.ops import green as green
    from takeback.ops import here as here
    from takeback.ops import index as index
    from takeback.ops import inspection as inspection
    from takeback.ops import keeping as keeping
    from takeback.ops import kept as kept
    from takeback.ops import label as label
    from takeback.ops import lagging as lagging
    from takeback.ops import left_running as left_running
    from takeback.ops import listening as listening
    from takeback.ops import names as names
    from takeback.ops import news as news
    from takeback.ops import open as open
    from takeback.ops import operation_log as operation_log
    from takeback.ops import parcels as parcels
    from takeback.ops import picking as picking
    from takeback.ops import plan as plan
    from takeback.ops import preview as preview
    from takeback.ops import prune as prune
    from takeback.ops import receive as receive
    from takeback.ops import recover as recover
    from takeback.ops import request as request
    from takeback.ops import restore as restore
    from takeback.ops import revert as revert
    from takeback.ops import review as review
    from takeback.ops import rewind as rewind
    from takeback.ops import round_trip as round_trip
    from takeback.ops import running as running
    from takeback.ops import scope as scope
    from takeback.ops import search as search
    from takeback.ops import sessions as sessions
    from takeback.ops import settings as settings
    from takeback.ops import standing as standing
    from takeback.ops import status as status
    from takeback.ops import summariser as summariser
    from takeback.ops import summary as summary
    from takeback.ops import sweep as sweep
    from takeback.ops import sweeping as sweeping
    from takeback.ops import timeline as timeline
    from takeback.ops import transcript as transcript
    from takeback.ops import turn_names as turn_names
    from takeback.ops import undo as undo
    from takeback.ops import upkeep as upkeep
    from takeback.ops import verify as verify
    from takeback.ops import watch as watch
    from takeback.ops import whereabouts as whereabouts
    from takeback.ops import whose as whose
else:
    _WHERE = {
        "belated": "takeback.ops.belated",
        "bisect": "takeback.ops.bisect",
        "blame": "takeback.ops.blame",
        "branches": "takeback.ops.branches",
        "browse": "takeback.ops.browse",
        "capture": "takeback.ops.capture",
        "carry": "takeback.ops.carry",
        "cat": "takeback.ops.cat",
        "catch_up": "takeback.ops.catch_up",
        "checkpoint": "takeback.ops.checkpoint",
        "child": "takeback.ops.child",
        "choices": "takeback.ops.choices",
        "closing": "takeback.ops.closing",
        "conversation_pages": "takeback.ops.conversation_pages",
        "cut": "takeback.ops.cut",
        "deeds": "takeback.ops.deeds",
        "destination": "takeback.ops.destination",
        "diff": "takeback.ops.diff",
        "doctor": "takeback.ops.doctor",
        "due": "takeback.ops.due",
        "earlier": "takeback.ops.earlier",
        "edits": "takeback.ops.edits",
        "elsewhere": "takeback.ops.elsewhere",
        "facts": "takeback.ops.facts",
        "failures": "takeback.ops.failures",
        "finish": "takeback.ops.finish",
        "forget": "takeback.ops.forget",
        "green": "takeback.ops.green",
        "here": "takeback.ops.here",
        "index": "takeback.ops.index",
        "inspection": "takeback.ops.inspection",
        "keeping": "takeback.ops.keeping",
        "kept": "takeback.ops.kept",
        "label": "takeback.ops.label",
        "lagging": "takeback.ops.lagging",
        "left_running": "takeback.ops.left_running",
        "listening": "takeback.ops.listening",
        "names": "takeback.ops.names",
        "news": "takeback.ops.news",
        "open": "takeback.ops.open",
        "operation_log": "takeback.ops.operation_log",
        "parcels": "takeback.ops.parcels",
        "picking": "takeback.ops.picking",
        "plan": "takeback.ops.plan",
        "preview": "takeback.ops.preview",
        "prune": "takeback.ops.prune",
        "receive": "takeback.ops.receive",
        "recover": "takeback.ops.recover",
        "request": "takeback.ops.request",
        "restore": "takeback.ops.restore",
        "revert": "takeback.ops.revert",
        "review": "takeback.ops.review",
        "rewind": "takeback.ops.rewind",
        "round_trip": "takeback.ops.round_trip",
        "running": "takeback.ops.running",
        "scope": "takeback.ops.scope",
        "search": "takeback.ops.search",
        "sessions": "takeback.ops.sessions",
        "settings": "takeback.ops.settings",
        "standing": "takeback.ops.standing",
        "status": "takeback.ops.status",
        "summariser": "takeback.ops.summariser",
        "summary": "takeback.ops.summary",
        "sweep": "takeback.ops.sweep",
        "sweeping": "takeback.ops.sweeping",
        "timeline": "takeback.ops.timeline",
        "transcript": "takeback.ops.transcript",
        "turn_names": "takeback.ops.turn_names",
        "undo": "takeback.ops.undo",
        "upkeep": "takeback.ops.upkeep",
        "verify": "takeback.ops.verify",
        "watch": "takeback.ops.watch",
        "whereabouts": "takeback.ops.whereabouts",
        "whose": "takeback.ops.whose",
    }

    def __getattr__(name):
        if name not in _WHERE:
            raise AttributeError(f"there is no room {name!r}")
        __import__(_WHERE[name])
        return sys.modules[_WHERE[name]]
