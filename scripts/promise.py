"""The promise, in one place: cog puts it into README, docs/safety.md and ARCHITECTURE.md.

Each line has a short form, a full form, and the tests that try to break it: a number is a behaviour
of tests/conformance, the rest are paths below tests/.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple


class Line(NamedTuple):
    short: str
    full: str
    guards: tuple[str | int, ...]


PROMISE = (
    Line(
        "changes a file that it has not first saved, ignored or not",
        "changes a file that it has not first saved: before a byte is replaced or removed, its "
        "exact bytes (ignored file or not) are durable in an undo snapshot",
        (
            22,
            26,
            "conformance/test_b_touched.py",
            "crash/test_saved_meanwhile.py",
            "property",
        ),
    ),
    Line(
        "deletes by guess: only what is saved, and what the target vouches was not there",
        "deletes by guess: a path is deleted only if its bytes are in the undo snapshot *and* "
        "the target vouches for its absence; what is unlisted, unreadable, oversized or special"
        " stays and is named",
        (
            25,
            68,
            "property",
        ),
    ),
    Line(
        "leaves a file half-written, also under kill -9 and on a full disk",
        "leaves a file half-written: each path is its old or its new version at every instant, "
        "also under kill -9 and on a full disk",
        (
            30,
            31,
            "crash/test_kill_every_step.py",
            "crash/test_power_cut.py",
            "crash/test_failing_writes.py",
            "crash/test_shims.py",
        ),
    ),
    Line(
        "leaves a rewind half-done unnoticed: the next changing command finishes it or rolls it"
        " back",
        "leaves a rewind half-done unnoticed: every command says so, the next changing one "
        "finishes it or rolls it back; a checkpoint that a hook makes meanwhile is marked as "
        "taken in the middle",
        (
            30,
            "crash/test_random_kill.py",
            "crash/test_kill_then_event.py",
        ),
    ),
    Line(
        "calls a partial snapshot complete: each path not captured is named",
        "calls a stale or partial snapshot complete: each path not captured is named, and a "
        "failed capture has no checkpoint; after a lost or damaged pack the next capture reads "
        "everything anew and says so",
        (
            12,
            13,
            14,
            "conformance/test_e_packs.py",
            "crash/test_odd_files.py",
            "crash/test_out_of_protection.py",
        ),
    ),
    Line(
        "writes outside the workspace, whatever links or races do",
        "writes outside the workspace, whatever the tree, symbolic links or races do; a new "
        "session's file goes only into the directory that its conversation was read from, or "
        "beneath the agent's own, and through no link",
        (
            4,
            32,
            "crash/test_symlink_race.py",
            "crash/test_ways_out.py",
            "crash/test_hostile_transcript.py",
        ),
    ),
    Line(
        "runs code from the project: no hook, filter, fsmonitor, helper",
        "runs code from the project: no hook, filter, fsmonitor, helper, remote, and no `git` "
        "or `takeback` that lies in a workspace or that others may write",
        (
            2,
            "crash/test_hostile_repository.py",
            "crash/test_planted_programs.py",
            "crash/test_ways_out.py",
            "test_doorkeeper.py",
        ),
    ),
    Line(
        "touches the project's `.git` (unless you ask for a git worktree)",
        "touches the project's `.git`: every byte under it is the same before and after (`fork "
        "--worktree DIR --git`, said by you, adds the record of that worktree)",
        (
            16,
            18,
            "crash/test_hostile_repository.py",
            "test_app_worktree.py",
        ),
    ),
    Line(
        "touches an unchanged file: same bytes and mode, same inode and mtime",
        "touches an unchanged file: same bytes and mode means same inode and mtime",
        (
            20,
            "property",
        ),
    ),
    Line(
        "loses a checkpoint inside its retention: not by a crash, another process, your `git gc`",
        "loses a checkpoint inside its retention: not by a crash, not by a prune, not by another "
        "process, not by your own `git gc` or `git clean`; what your settings let go of says so",
        (
            23,
            57,
            58,
            59,
            60,
            "conformance/test_e_anew.py",
            "conformance/test_g_inside.py",
            "crash/test_kill_prune.py",
            "crash/test_power_cut.py",
            "crash/test_kill_purge.py",
            "crash/test_two_writers.py",
        ),
    ),
    Line(
        "hands back wrong bytes: every file is hash-checked when it is restored",
        "hands back wrong bytes: each file is hash-checked when it is restored; damage is "
        "reported and the rest stays restorable",
        (
            34,
            61,
            "conformance/test_e_packs.py",
            "git/test_packs.py",
            "git/test_bounds.py",
            "store/test_sink.py",
        ),
    ),
    Line(
        "edits an agent's transcript: a conversation goes back as a new session",
        "edits an agent's transcript: a conversation goes back as a new session, whose file is "
        "new; the old one stays, byte for byte",
        (
            44,
            "crash/test_kill_conversation.py",
        ),
    ),
    Line(
        "blocks on a dead process: there is nothing to remove by hand",
        "blocks on a dead process: kernel locks only, nothing to remove by hand",
        (
            59,
            "store/test_lock.py",
            "crash/test_two_writers.py",
        ),
    ),
    Line(
        "sends or exposes anything: no network, and what is kept is readable by you alone",
        "sends or exposes anything: no network, the store is readable by you alone, and a home "
        "or store that others own or may write is refused",
        (
            "store/test_location.py",
            "test_ownership.py",
            "git/test_process.py",
        ),
    ),
    Line(
        "fails silently, or stops or slows an agent because it failed itself",
        "fails silently, and never stops or slows an agent because of its own failure: hooks "
        "end with 0 within their limit, and the failure is shown by `status` and, once a turn, "
        "by the agent",
        (
            31,
            62,
            64,
            "test_hook.py",
            "test_events.py",
            "crash/test_many_sessions.py",
        ),
    ),
    Line(
        "believes its neighbour: from inside its turn a model cannot switch it off, steer it, "
        "or destroy what is kept",
        "believes its neighbour: a model, mistaken or steered by what it reads, controls names,"
        " bytes, commands, prompts, transcripts and events. From inside its turn it cannot take"
        " a path out of protection unnoticed, make takeback run or write anything outside its "
        "own sandbox, forge what a person will run, or destroy or redirect checkpoints",
        (
            "crash/test_ways_out.py",
            "crash/test_out_of_protection.py",
            "conformance/test_g_inside.py",
            "conformance/test_g_inside_served.py",
            "conformance/test_g_hostile.py",
            "test_doorkeeper.py",
        ),
    ),
)


def listed(*, full: bool) -> str:
    """Returns the numbered list, in short for the README or in full."""
    lines = []
    for number, line in enumerate(PROMISE, 1):
        mark = f"{number}. "
        text = line.full if full else line.short
        end = "." if line is PROMISE[-1] else ";"
        lines.append(
            textwrap.fill(
                text + end,
                118,
                initial_indent=mark,
                subsequent_indent=" " * len(mark),
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def table() -> str:
    """Returns the table of the promise and its tests."""
    rows = ["| takeback never | guarded by |", "|---|---|"]
    for number, line in enumerate(PROMISE, 1):
        short = line.short.partition(":")[0].partition(" (")[0]
        numbers = ", ".join(str(guard) for guard in line.guards if isinstance(guard, int))
        files = ", ".join(f"`{guard}`" for guard in line.guards if isinstance(guard, str))
        rows.append(f"| {number} {short} | {'; '.join(filter(None, [numbers, files]))} |")
    return "\n".join(rows)
