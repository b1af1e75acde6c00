"""Wrong usages by the dozen: each ends as documented, with a sentence and a hint in JSON."""

from __future__ import annotations

import shlex
from pathlib import Path

from takeback import Takeback
from tests.support.called import called

PATHS = "paths stand after --"
TIMES = "a time is written"

# What is typed, the exit status, and words of the hint.
WRONG: list[tuple[str, int, str]] = [
    # verbs and options
    ("rewnd", 2, "did you mean: takeback rewind"),
    ("nonsense", 2, "takeback --help"),
    ("''", 2, "takeback --help"),
    ("LOG", 2, "did you mean: takeback log"),
    ("undo-all", 2, "takeback"),
    ("--nonsense", 2, "takeback --help"),
    ("log --nonsense", 2, "takeback log --help"),
    ("fork start --git", 2, "where the worktree is to be"),
    ("rewind --foo", 2, "takeback rewind --help"),
    ("log --sesion x", 2, "--session"),
    ("rewind --file start", 2, "--files"),
    ("log -n", 2, "takeback log --help"),
    ("log -n -3", 2, "takeback log --help"),
    ("log -n three", 2, "takeback log --help"),
    ("log -n 1.5", 2, "takeback log --help"),
    ("--color blue log", 2, "auto, always, never"),
    ("--color", 2, "takeback --help"),
    ("-C", 2, "takeback --help"),
    ("-C missing log", 10, "name a directory that is there"),
    ("-C '' log", 10, "name a directory that is there"),
    ("-C a log", 10, "name a directory that is there"),
    ("log --session", 2, "takeback log --help"),
    ("log extra", 2, "paths stand after --: takeback log ... -- extra"),
    ("status extra", 2, "takeback status --help"),
    ("sessions extra", 2, "takeback sessions --help"),
    ("tree extra", 2, "takeback tree --help"),
    ("undo extra --yes", 12, "takeback log --operations"),
    ("undo a b --yes", 2, "takeback undo --help"),
    ("redo extra --yes", 2, "takeback redo --help"),
    ("verify extra", 2, "takeback verify --help"),
    ("pick --json", 2, "takeback log --json"),
    ("pick --dry-run", 2, "takeback log --json"),
    ("pick extra", 2, "takeback pick --help"),
    # checkpoints
    ("show nonsense", 12, "takeback log"),
    ("show strt", 12, "near it: start"),
    ("show ''", 12, "takeback log"),
    ("diff ''", 12, "takeback log"),
    ("label '' x", 12, "takeback log"),
    ("cat '' a", 12, "takeback log"),
    ("fork ''", 12, "takeback log"),
    ("rewind '' --yes", 12, "takeback log"),
    ("show abc", 12, "needs 4 characters"),
    ("show turn:", 12, "takeback log"),
    ("show turn:x", 12, "takeback log"),
    ("show turn:0", 12, "1 to 2"),
    ("show turn:99", 12, "1 to 2"),
    ("show turn:1.begin", 12, "takeback log"),
    ("show turn:-1", 12, "takeback log"),
    ("show turn1", 12, "turn:3"),
    ("show 'turn 1'", 12, "turn:3"),
    ("show 1", 12, "turn:3"),
    ("show @x", 12, "takeback log"),
    ("show @1", 12, "takeback log"),
    ("show @~", 12, "takeback log"),
    ("show @~999", 12, "takeback log"),
    ("show HEAD", 12, "takeback log"),
    ("show nobody/@", 12, "sessions: "),
    ("show /", 12, "sessions: "),
    ("show --session nobody", 12, "sessions: "),
    ("log --session nobody", 12, "sessions: "),
    ("log --session ''", 12, "sessions: "),
    ("rewind --session nobody --yes", 12, "sessions: "),
    ("diff start nonsense", 12, "takeback log"),
    ("cat nonsense a", 12, "takeback log"),
    # times
    ("rewind 25:00 --yes", 12, TIMES),
    ("rewind yesterday --yes", 12, TIMES),
    ("rewind 5min --yes", 12, TIMES),
    ("rewind '5 minutes' --yes", 12, TIMES),
    ("rewind 2026-13-45 --yes", 12, TIMES),
    ("rewind 10x --yes", 12, TIMES),
    ("rewind 400w --yes", 12, "takeback log"),
    # paths
    ("rewind start a --yes", 2, PATHS),
    ("diff start @ a", 2, PATHS),
    ("rewind start --yes -- ../outside", 2, "inside the workspace"),
    ("rewind start --yes -- /etc/passwd", 2, "inside the workspace"),
    ("rewind start --yes -- ''", 2, "the whole workspace"),
    ("diff start -- ../outside", 2, "inside the workspace"),
    ("diff start -- nope", 2, "takeback search nope"),
    ("rewind start --yes -- nope", 2, "takeback show"),
    ("cat start nope", 12, "takeback search"),
    ("cat start ../outside", 12, "takeback"),
    ("cat start ''", 2, "takeback cat --help"),
    ("cat start", 2, "takeback cat --help"),
    ("cat", 2, "takeback cat --help"),
    ("blame", 2, "takeback blame --help"),
    ("blame src", 2, "name a file"),
    ("blame nowhere", 12, "takeback log -- nowhere"),
    ("diff", 2, "takeback diff --help"),
    ("cat start a --conversation", 2, "takeback cat --help"),
    # scopes and refusals
    ("rewind start --yes --files --both", 2, "one of them"),
    ("rewind start --yes --files --conversation", 2, "one of them"),
    ("rewind start --yes --both -- a", 2, "--files"),
    ("rewind start --yes --conversation -- a", 2, "--files"),
    ("rewind start --yes --keep-others --overwrite-others", 2, "one of them"),
    ("rewind start", 13, "--yes"),
    ("rewind start --yes --conversation", 13, "--files"),
    ("undo", 13, "--yes"),
    ("undo --yes", 13, "takeback log --operations"),
    ("redo --yes", 13, "takeback log --operations"),
    ("fork start", 13, "--files"),
    ("fork", 2, "takeback fork --help"),
    ("fork start --files --worktree new", 2, "one of them"),
    ("fork turn:1 --worktree ''", 2, "does not exist"),
    ("fork turn:1 --worktree src", 2, "does not exist"),
    ("fork turn:1 --worktree .", 2, "does not exist"),
    ("fork turn:1 --worktree src/new", 2, "outside"),
    # labels
    ("label", 2, "takeback label --help"),
    ("label start @", 2, "a label"),
    ("label start turn:3", 2, "a label"),
    ("label start 10m", 2, "a label"),
    ("label start a/b", 2, "a label"),
    ("label start ' x'", 2, "a label"),
    ("label start -- -x", 2, "a label"),
    (f"label start {'x' * 300}", 2, "a label"),
    ("label start x --dry-run", 2, "takeback show"),
    ("checkpoint -m start", 2, "take it off first"),
    ("checkpoint -m ''", 2, "a label"),
    ("checkpoint --dry-run", 2, "takeback diff @"),
    ("checkpoint --session nobody", 12, "sessions: "),
    # settings
    ("config nonsense", 2, "settings:"),
    ("config lock_wait_secs", 2, "did you mean: lock_wait_seconds"),
    ("config lock_wait_seconds soon", 2, "such as 10"),
    ("config lock_wait_seconds -1", 2, "takeback config --help"),
    ("config lock_wait_seconds -- -1", 2, "such as 10"),
    ("config ignored maybe", 2, "takeback config ignored save"),
    ("config foreign_owner maybe", 2, "takeback config foreign_owner no"),
    ("config never a b", 2, "commas"),
    ("config --unset", 2, "takeback config"),
    ("config --unset never x", 2, "takeback config --unset never"),
    # the rest
    ("search", 2, "takeback search --help"),
    ("completion", 2, "bash, zsh, fish"),
    ("completion tcsh", 2, "bash, zsh, fish"),
    ("init nobody", 2, "claude, codex"),
    ("uninstall nobody", 2, "claude, codex"),
    ("purge", 2, "takeback purge --help"),
    ("purge a", 13, "--confirm a"),
    ("purge a --confirm b", 13, "--confirm a"),
    ("forget", 2, "takeback forget --help"),
    ("forget . --yes", 13, "--name"),
    ("forget . --yes --name wrong", 13, "--name workspace"),
    ("forget missing --yes --name missing", 10, "takeback"),
    ("doctor --adopt missing", 2, "takeback"),
    ("doctor --dry-run", 2, "takeback verify"),
    ("demo --nonsense", 2, "takeback demo --help"),
    ("off extra", 2, "takeback off --help"),
]


def test_every_wrong_usage_ends_as_documented_with_a_hint(workspace: Path) -> None:
    (workspace / "a").write_text("a\n")
    (workspace / "src").mkdir()
    with Takeback.open(workspace) as tb:
        tb.checkpoint("start")
        for number in (1, 2):
            with tb.session(agent="mine", native="s1").turn(f"turn number {number}"):
                (workspace / "a").write_text(f"{number}\n")
    before = sorted(path.name for path in workspace.parent.iterdir())
    wrong = [problem for line in WRONG for problem in problems(workspace, *line)]
    assert not wrong, "\n".join(wrong)
    assert (workspace / "a").read_text() == "2\n"
    assert sorted(path.name for path in workspace.parent.iterdir()) == before
    assert len(WRONG) >= 90


def problems(workspace: Path, line: str, status: int, hint: str) -> list[str]:
    """Returns what is wrong with the answer to one wrong usage."""
    answer = called(workspace, "--json", *shlex.split(line))
    try:
        error = answer.error
    except (AssertionError, ValueError):
        return [f"{line}: no JSON error: {answer}"]
    found = []
    if (answer.status, error["exit"]) != (status, status):
        found.append(f"{line}: ended with {answer.status}, not {status}: {error}")
    if not error["hint"] or hint not in error["hint"]:
        found.append(f"{line}: {hint!r} is not in the hint {error['hint']!r} of {error['message']}")
    if answer.stdout or "Traceback" in answer.stderr or error["code"] == "bug":
        found.append(f"{line}: more than an error: {answer}")
    if "\\x" in error["message"] + error["hint"] or error["message"].endswith("."):
        found.append(f"{line}: no plain sentence: {error['message']}")
    return found
