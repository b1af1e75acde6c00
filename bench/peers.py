"""Measures takeback beside what other tools do: their own sequences of git commands.

Each peer runs the commands that its source runs at a checkpoint and at a restore (opencode's
``snapshot``, Gemini CLI's ``gitService``, Cline's ``CheckpointTracker``, as of autumn 2026),
without the program around them. First what comes back of a turn that touched a bit of everything,
with these and with the real programs (``real_peers.py``), then how long it takes to capture 14
edits and to take them back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from bench.repositories import Turns, git, repository
from takeback import Takeback

_IDENTITY = {
    f"GIT_{who}_{what}": word
    for who in ("AUTHOR", "COMMITTER")
    for what, word in (("NAME", "bench"), ("EMAIL", "bench@localhost"))
}


class Peer(Protocol):
    name: str

    def capture(self) -> str:
        """Keeps the present files; returns what they are called."""

    def restore(self, snapshot: str) -> None:
        """Brings them back."""

    def close(self) -> None:
        """Lets go of what is open."""


class _Git:
    """Runs git with a directory of the peer's own, and the project as its work tree."""

    def __init__(self, place: Path, scratch: Path) -> None:
        self._place = place
        self._own = scratch / "peer.git"
        subprocess.run(["git", "init", "-q", "--bare", str(self._own)], check=True)
        self._environ = {
            **os.environ,
            **_IDENTITY,
            "GIT_DIR": str(self._own),
            "GIT_WORK_TREE": str(place),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def _git(self, *words: str, told: str = "", **environ: str) -> str:
        ended = subprocess.run(
            ["git", "-c", "gc.auto=0", "-c", "core.bare=false", *words],
            cwd=self._place,
            env={**self._environ, **environ},
            input=told,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.stdout  # as they do: what git refused stops nothing

    def close(self) -> None:
        pass


class OpenCode(_Git):
    """A tree in a repository of its own, with the project's objects and index to begin with."""

    name = "opencode"

    def __init__(self, place: Path, scratch: Path) -> None:
        super().__init__(place, scratch)
        for setting in (
            "core.autocrlf=false",
            "feature.manyFiles=true",
            "index.version=4",
            "core.untrackedCache=true",
        ):
            self._git("config", *setting.split("="))
        (self._own / "objects/info/alternates").write_text(f"{place}/.git/objects\n")
        shutil.copyfile(place / ".git/index", self._own / "index")

    def capture(self) -> str:
        changed = self._git("diff-files", "--name-only", "-z", "--", ".")
        new = self._git("ls-files", "--others", "--exclude-standard", "-z", "--", ".")
        names = dict.fromkeys(filter(None, (changed + new).split("\0")))
        said = "".join(f"{name}\0" for name in names)
        own = f"{self._place}/.git"
        ignored = self._git("check-ignore", "--no-index", "--stdin", "-z", told=said, GIT_DIR=own)
        wanted = [name for name in names if name not in set(ignored.split("\0"))]
        from_input = ("--pathspec-from-file=-", "--pathspec-file-nul")
        if len(wanted) < len(names):
            gone = "".join(f":(top,literal){name}\0" for name in names if name not in wanted)
            self._git("rm", "--cached", "-f", "--ignore-unmatch", *from_input, told=gone)
        if wanted:
            there = "".join(f":(top,literal){name}\0" for name in wanted)
            self._git("add", "--all", "--sparse", *from_input, told=there)
        return self._git("write-tree").strip()

    def restore(self, snapshot: str) -> None:
        if self._git("diff", "--name-only", "-z", snapshot, "--", "."):
            self._git("read-tree", snapshot)
            self._git("checkout-index", "-a", "-f")


class Gemini(_Git):
    """A commit in a shadow repository; restored with restore and clean."""

    name = "Gemini CLI"

    def capture(self) -> str:
        self._git("add", ".")
        if self._git("status", "--porcelain"):
            self._git("commit", "-q", "--no-verify", "-m", "Snapshot")
        return self._git("rev-parse", "HEAD").strip()

    def restore(self, snapshot: str) -> None:
        self._git("restore", "--source", snapshot, ".")
        self._git("clean", "-f", "-d")


class Cline(_Git):
    """A commit in a shadow repository, nested ones put aside meanwhile; reset --hard."""

    name = "Cline"

    def capture(self) -> str:
        nested = [one for one in self._place.glob("**/.git") if one.parent != self._place]
        for one in nested:
            one.rename(f"{one}_disabled")
        self._git("add", ".", "--ignore-errors")
        for one in nested:
            Path(f"{one}_disabled").rename(one)
        self._git("commit", "-q", "--allow-empty", "--no-verify", "-m", "checkpoint")
        return self._git("rev-parse", "HEAD").strip()

    def restore(self, snapshot: str) -> None:
        self._git("reset", "-q", "--hard", snapshot)


class Takebacks:
    """takeback in a process that is already running, as the others are."""

    name = "takeback"

    def __init__(self, place: Path, scratch: Path) -> None:
        environ = {**os.environ, "TAKEBACK_HOME": str(scratch / "home")}
        self._tb = Takeback.open(place, environ=environ)

    def capture(self) -> str:
        return str(self._tb.checkpoint(allow_large=True).checkpoint.id)

    def restore(self, snapshot: str) -> None:
        self._tb.rewind(snapshot, ignored=True)

    def undo(self) -> None:
        self._tb.undo()

    def close(self) -> None:
        self._tb.close()


PEERS: dict[str, Callable[[Path, Path], Peer]] = {
    one.name: one for one in (OpenCode, Gemini, Cline, Takebacks)
}

EVERYTHING = {
    "an edit by the shell": "src/edited.py",
    "a file deleted by the shell": "src/deleted.py",
    "a file that git does not track": "notes.txt",
    "CRLF under `* text=auto`": "windows.txt",
    "permission bits 0600": "secret.key",
    "an empty directory": "empty",
    "a file of a nested repository": "nested/inner.txt",
    "a file that is tracked and ignored": "tracked.log",
    "an ignored file that the turn changed": ".env",
}


def measure_peers(rounds: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Prints what comes back with each, and what each takes."""
    from bench.real_peers import measure_real  # needs the tests' drivers, and npm

    found = {name: what_comes_back(make) for name, make in PEERS.items()}
    print("\n## What comes back of one turn\n")
    print(f"| | {' | '.join(found)} |\n|---{'|---' * len(found)}|")
    for what in (*EVERYTHING, "what you typed meanwhile is not lost"):
        marks = ["yes" if one[what] else "**no**" for one in found.values()]
        print(f"| {what} | {' | '.join(marks)} |", flush=True)
    return {
        "comes_back": found,
        "real": measure_real(),
        "times": {size: _times(size, rounds) for size in sizes},
    }


def what_comes_back(make: Callable[[Path, Path], Peer]) -> dict[str, bool]:
    """Lets a turn touch everything, restores, and compares each path with what it was."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as name:
        place, scratch = Path(name) / "project", Path(name) / "scratch"
        scratch.mkdir()
        project(place)
        before = {what: state_of(place / path) for what, path in EVERYTHING.items()}
        peer = make(place, scratch)
        snapshot = peer.capture()
        _turn(place)
        mine = place / "mine.txt"
        mine.write_text("typed by a person since\n")
        peer.restore(snapshot)
        found = {what: state_of(place / EVERYTHING[what]) == was for what, was in before.items()}
        found["what you typed meanwhile is not lost"] = mine.exists() or _undone(peer, mine)
        peer.close()
    return found


def _undone(peer: Peer, mine: Path) -> bool:
    """Tells whether what a restore removed can be had again; of the peers, none has kept it."""
    if isinstance(peer, Takebacks):
        peer.undo()
    return mine.exists()


def project(place: Path) -> None:
    """Fills a project with one of each of the things that are easily lost."""
    for path in ("src/edited.py", "src/deleted.py", "tracked.log"):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(f"{path} as it was\n")
    (place / ".gitattributes").write_text("* text=auto\n")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "all")
    (place / ".gitignore").write_text("*.log\n.env\n")
    (place / "notes.txt").write_text("untracked\n")
    (place / "windows.txt").write_bytes(b"one\r\ntwo\r\n")
    (place / "secret.key").write_text("key\n")
    (place / "secret.key").chmod(0o600)
    (place / "empty").mkdir()
    (place / ".env").write_text("TOKEN=1\n")
    (place / "nested").mkdir()
    (place / "nested/inner.txt").write_text("inner\n")
    git(place / "nested", "init", "-q")
    git(place / "nested", "add", "-A")
    git(place / "nested", "commit", "-qm", "inner")


def _turn(place: Path) -> None:
    """Changes each of them with the shell, as models do."""
    for path in ("src/edited.py", "notes.txt", "windows.txt", "nested/inner.txt", "tracked.log"):
        (place / path).write_text("changed\n")
    (place / ".env").write_text("TOKEN=2\n")
    (place / "secret.key").chmod(0o644)
    (place / "src/deleted.py").unlink()
    (place / "empty").rmdir()


def state_of(path: Path) -> tuple[int, bytes] | None:
    """Returns the mode and the bytes of what is there; None for nothing."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    return mode, b"" if path.is_dir() else path.read_bytes()


def _times(size: int, rounds: int) -> dict[str, dict[str, float]]:
    """Has each capture a turn and restore it, in rotating order; returns milliseconds."""
    print(f"\n## {size:,} files, {rounds} rounds of 14 changes, median (minimum) ms\n", flush=True)
    original = repository(size)
    spent: dict[str, tuple[list[float], list[float]]] = {}
    with tempfile.TemporaryDirectory(dir=original.parent, prefix="run-") as name:
        peers = []
        for number, make in enumerate(PEERS.values()):
            place, scratch = Path(name) / f"project{number}", Path(name) / f"scratch{number}"
            scratch.mkdir()
            shutil.copytree(original, place, symlinks=True)
            peers.append((make(place, scratch), Turns(place)))
        for peer, _ in peers:
            peer.capture()
        time.sleep(0.2)
        for number in range(rounds):
            shift = number % len(peers)
            for peer, turns in peers[shift:] + peers[:shift]:
                snapshot = peer.capture()
                turns.edit(14)
                time.sleep(0.1)
                took = (_timed(peer.capture), _timed(partial(peer.restore, snapshot)))
                for each, milliseconds in zip(
                    spent.setdefault(peer.name, ([], [])), took, strict=True
                ):
                    each.append(milliseconds)
        for peer, _ in peers:
            peer.close()
    print("| | capture | restore |\n|---|---|---|")
    rows = {}
    for title, (captures, restores) in spent.items():
        shown = [f"{median(each):.0f} ({min(each):.0f})" for each in (captures, restores)]
        print(f"| {title} | {' | '.join(shown)} |", flush=True)
        rows[title] = {"capture": median(captures), "restore": median(restores)}
    return rows


def _timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000
