"""The behaviours that takeback guarantees, by number; cog makes tests/conformance/README.md of it.

A behaviour's tests have its number (``test_07_...``) in tests/conformance. Some are covered by
whole files instead, because an attack or a campaign is not a single test: those are named here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1] / "tests"


class Behaviour(NamedTuple):
    number: int
    about: str
    files: tuple[str, ...] = ()


BEHAVIOURS = (
    Behaviour(1, "every kind of file, byte for byte"),
    Behaviour(2, "CRLF, ident, encodings, LFS, filters"),
    Behaviour(3, "modes in full, setuid never"),
    Behaviour(4, "symbolic links"),
    Behaviour(5, "empty directories"),
    Behaviour(6, "names are bytes, deep paths"),
    Behaviour(7, "nested repositories, submodules"),
    Behaviour(8, "tracked but ignored"),
    Behaviour(9, "every state of the project's git"),
    Behaviour(10, "a directory without git"),
    Behaviour(11, "from a sub-directory; linked worktrees"),
    Behaviour(12, "FIFOs, sockets, devices"),
    Behaviour(13, "files that move during the capture"),
    Behaviour(14, "unreadable and oversized files"),
    Behaviour(15, "snapshot ids"),
    Behaviour(16, "the project's `.git` is never touched"),
    Behaviour(17, "only a rewind writes into the workspace"),
    Behaviour(18, "inside a git hook"),
    Behaviour(19, "exactly the files of that moment"),
    Behaviour(20, "unchanged files keep inode and mtime"),
    Behaviour(21, "what was shown is what is done; dry run; yes"),
    Behaviour(22, "undo and redo, any number of times"),
    Behaviour(23, "later checkpoints survive a rewind"),
    Behaviour(24, "nothing to do is said"),
    Behaviour(25, "what was never touched is never deleted"),
    Behaviour(26, "ignored data is never lost"),
    Behaviour(27, "limited to paths"),
    Behaviour(28, "files that another session changed, and your own edits"),
    Behaviour(29, "an edit between plan and apply"),
    Behaviour(30, "kill -9 at any moment of a rewind"),
    Behaviour(31, "disk full, read-only, EIO, quota"),
    Behaviour(32, "a directory swapped for a link"),
    Behaviour(33, "a path that cannot be replaced"),
    Behaviour(34, "a damaged or missing object"),
    Behaviour(35, "a target with no files at all"),
    Behaviour(36, "mass deletion needs a yes of its own"),
    Behaviour(37, "a merge, rebase or cherry-pick in progress"),
    Behaviour(38, "a checkpoint before and after each turn"),
    Behaviour(39, "the interrupted turn"),
    Behaviour(40, "late subagents, prompts nobody typed"),
    Behaviour(41, "what a turn shows"),
    Behaviour(42, "anchors are the agent's own ids"),
    Behaviour(43, "the agent remembers nothing later"),
    Behaviour(44, "the transcript is untouched"),
    Behaviour(45, "files, conversation, both; the model is told"),
    Behaviour(46, "forks and the tree"),
    Behaviour(47, "compaction, clear, resume, switch"),
    Behaviour(48, "labels"),
    Behaviour(49, "a moved or deleted transcript"),
    Behaviour(50, "a failed part is never hidden"),
    Behaviour(51, "rows of the picker: prompt, age, files, counts, badge, place"),
    Behaviour(52, "windowed, wraps, search as you type, Esc"),
    Behaviour(53, "the choices, and why not"),
    Behaviour(54, "a diff before anything is done"),
    Behaviour(55, "what was done, and the way back"),
    Behaviour(56, "silence, colour, JSON, exit statuses"),
    Behaviour(57, "bounds in bytes, count and age; what is pinned; a dry run"),
    Behaviour(58, "pruning harms no session and no process that captures"),
    Behaviour(59, "many processes at once"),
    Behaviour(60, "gc, clean, moved, copied, made anew"),
    Behaviour(61, "`verify` finds all damage; the next capture is whole"),
    Behaviour(62, "damaged ledger, journal, caches"),
    Behaviour(63, "a store of another format"),
    Behaviour(64, "hooks never fail, never speak out of turn"),
    Behaviour(
        65,
        "`init` and `uninstall` leave what is yours",
        ("cli/test_init.py", "adapters/test_connecting.py"),
    ),
    Behaviour(66, "an agent's own rewind"),
    Behaviour(67, "git commands inside a turn"),
    Behaviour(68, "never deleted: what the target did not hold"),
    Behaviour(69, "an expired checkpoint is shown as expired"),
    Behaviour(70, "a rewind while a turn runs"),
    Behaviour(71, "an agent's own labels pin", ("agents/test_pi.py",)),
    Behaviour(72, "an agent that worked without takeback is named"),
    Behaviour(73, "uninstall, off, never, forget"),
    Behaviour(
        74,
        "nothing handed over by a sandbox acts outside of it",
        ("test_doorkeeper.py", "crash/test_ways_out.py"),
    ),
    Behaviour(
        75,
        "no program from a workspace or from where others write",
        ("crash/test_planted_programs.py",),
    ),
    Behaviour(76, "what was held stays held or is named", ("crash/test_out_of_protection.py",)),
    Behaviour(
        77,
        "what is refused from inside a turn",
        ("conformance/test_g_inside.py", "conformance/test_g_inside_served.py"),
    ),
    Behaviour(
        78,
        "any text is a session id; no word steers a terminal",
        ("conformance/test_f_names.py", "conformance/test_g_hostile.py"),
    ),
    Behaviour(
        79,
        "where a session's file is created; endless transcripts",
        ("crash/test_hostile_transcript.py",),
    ),
    Behaviour(
        80,
        "homes, launchers and settings that others may write",
        ("test_ownership.py", "store/test_location.py", "cli/test_init.py"),
    ),
    Behaviour(
        81,
        "no single file, checkpoint or object stops the others",
        ("crash/test_odd_files.py", "crash/test_any_object.py", "conformance/test_e_edges.py"),
    ),
    Behaviour(
        82,
        "undo covers all that was touched",
        ("conformance/test_b_touched.py", "test_app_undo.py"),
    ),
    Behaviour(83, "what is saved meanwhile stays", ("crash/test_saved_meanwhile.py",)),
    Behaviour(
        84,
        "verified only where the target vouches",
        ("conformance/test_b_touched.py", "property/test_state_machine.py"),
    ),
    Behaviour(85, "a half state is no ordinary checkpoint", ("crash/test_kill_then_event.py",)),
    Behaviour(
        86, "earlier checkpoints of the same path are offered", ("conformance/test_e_anew.py",)
    ),
    Behaviour(87, "the plan names every own edit", ("test_app_undo.py",)),
    Behaviour(88, "the model is told of all operations", ("rooms/test_notes.py",)),
    Behaviour(
        89,
        "several sessions: whose, the current one, times",
        ("rooms/test_whose.py", "rooms/test_times.py", "cli/test_sessions.py"),
    ),
    Behaviour(90, "one turn only, and a person's edits kept", ("property/test_merged_goals.py",)),
    Behaviour(91, "whose each line is, and which turn broke it", ("rooms/test_bisect.py",)),
    Behaviour(
        93,
        "the page and the API do what the command line does, for who has the secret",
        (
            "serve/test_changing.py",
            "serve/test_guard.py",
            "conformance/test_g_inside_served.py",
            "page/test_taking_back.py",
        ),
    ),
)


def numbered() -> dict[int, list[str]]:
    """Returns the files of tests/conformance that have tests for each number."""
    found: dict[int, list[str]] = {}
    for path in sorted((TESTS / "conformance").glob("test_*.py")):
        for number in sorted(set(re.findall(r"^def test_(\d\d)_", path.read_text(), re.M))):
            found.setdefault(int(number), []).append(path.name)
    return found


def table() -> str:
    """Returns the table of the behaviours and where each is tested."""
    tests = numbered()
    rows = ["| number | what it is about | tried in |", "|---|---|---|"]
    for one in BEHAVIOURS:
        named = [f"`{name}` `test_{one.number:02}_...`" for name in tests.get(one.number, [])]
        named += [f"`{name}`" for name in one.files]
        rows.append(f"| {one.number} | {one.about} | {', '.join(named)} |")
    return "\n".join(rows)
