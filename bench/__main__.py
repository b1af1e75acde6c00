"""Runs all measurements and prints the tables of docs/performance.md; writes JSON beside."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from bench.contestants import (
    BarePython,
    Contestant,
    EmptyIndex,
    InProcess,
    RawWalk,
    ShadowIndex,
    WalkInC,
    WholeProcess,
)
from bench.repositories import Turns, repository
from bench.sessions import measure_hook, measure_session

_ROUNDS = {1_000: 15, 10_000: 11, 100_000: 7}
_CROWD = 50_000


def _agents(options: argparse.Namespace) -> dict[str, Any]:
    from bench.agents import measure_agents  # needs the tests' drivers, and npm

    only = tuple(filter(None, options.only.split(",")))
    try:
        return measure_agents(options.rounds or 5, only)
    except ValueError as error:
        sys.exit(f"bench: {error}")


def _hooks(options: argparse.Namespace) -> dict[str, Any]:
    from bench.hooks import measure_hooks  # leaves standbys behind while it runs

    return measure_hooks(options.rounds or 40)


def _first_prompt(options: argparse.Namespace) -> dict[str, Any]:
    from bench.first_prompt import measure_first_prompt  # writes 30,000 files a round

    return measure_first_prompt(options.rounds or 10, options.busy)


def _watch(options: argparse.Namespace) -> dict[str, Any]:
    from bench.watch import measure_watch  # looks at 100,000 files in each round

    return measure_watch(options.rounds or 15, _sizes(options))


def _picker(options: argparse.Namespace) -> dict[str, Any]:
    from bench.picker import measure_picker  # opens a pseudo-terminal

    return measure_picker(options.rounds or 7)


def _server(options: argparse.Namespace) -> dict[str, Any]:
    from bench.server import measure_server  # needs 10,000 turns, which take a minute

    return measure_server()


def _disk_use(options: argparse.Namespace) -> dict[str, Any]:
    from bench.disk import measure_disk  # takes 15 GB for a while

    return measure_disk(turns=20, tree_turns=200)


def _commands(options: argparse.Namespace) -> dict[str, Any]:
    from bench.commands import measure_commands

    return measure_commands(options.rounds or 7)


def _growth(options: argparse.Namespace) -> dict[str, Any]:
    from bench.growth import measure_growth  # needs 10,000 turns, which take a minute

    return measure_growth(options.rounds or 7)


def _curves(options: argparse.Namespace) -> dict[str, Any]:
    from bench.curves import measure_curves  # needs 10,000 turns, which take a minute

    most = max(_sizes(options))
    return measure_curves(options.rounds or 7, most, options.json.parent / "curves")


def _peers(options: argparse.Namespace) -> dict[str, Any]:
    from bench.peers import measure_peers

    return measure_peers(options.rounds or 7, _sizes(options))


_PARTS: dict[str, tuple[str, Callable[[argparse.Namespace], dict[str, Any]]]] = {
    "agents": ("what the real agents feel", _agents),
    "hooks": ("the hooks around an edit", _hooks),
    "first-prompt": ("the first prompt of 30,000 files", _first_prompt),
    "watch": ("a round that relies on the watch", _watch),
    "picker": ("how fast the picker opens", _picker),
    "server": ("the server, under load", _server),
    "commands": ("what people type most", _commands),
    "peers": ("other tools, beside takeback", _peers),
    "growth": ("what grows with turns, as ratios", _growth),
    "curves": ("how times grow, as pictures", _curves),
    "disk": ("what maintenance gains; 15 GB", _disk_use),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=0, help="0: fewer for larger sizes")
    parser.add_argument("--turns", type=int, default=1000, help="of the long session; 0: none")
    for name, (about, _) in _PARTS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"only {about}")
    parser.add_argument("--busy", type=int, default=0, help="with --first-prompt: so many beside")
    parser.add_argument("--only", default="", help="with --agents: some of them, as qwen,kilo")
    parser.add_argument("--soak", type=int, default=0, help="only so many turns, in months")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"))
    options = parser.parse_args()
    results: dict[str, Any] = {"python": sys.version.split()[0], "sizes": {}}
    for name, (_, part) in _PARTS.items():
        if getattr(options, name.replace("-", "_")):
            results[name] = part(options)
            _write(options.json, results)
            return
    if options.soak:
        from bench.soak import measure_soak  # needs the tests' campaign

        results["soak"] = measure_soak(options.soak, options.json.parent)
        _write(options.json, results)
        return
    for size in _sizes(options):
        rounds = options.rounds or _ROUNDS.get(size, 5)
        print(f"\n## {size:,} files, {rounds} rounds of 14 changes\n", flush=True)
        results["sizes"][size] = measure(size, rounds)
        _write(options.json, results)
    results["hook"] = measure_hook(15)
    if options.turns:
        results["session"] = measure_session(options.turns)
    _write(options.json, results)
    print(f"\nwritten to {options.json}")


def _sizes(options: argparse.Namespace) -> tuple[int, ...]:
    return tuple(map(int, filter(None, options.sizes.split(","))))


def _write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def measure(size: int, rounds: int) -> dict[str, Any]:
    """Measures everything for one size on a fresh copy of its repository."""
    original = repository(size)
    with tempfile.TemporaryDirectory(dir=original.parent, prefix="run-") as name:
        scratch = Path(name)
        place = scratch / "project"
        shutil.copytree(original, place, symlinks=True)
        first = first_capture(place, scratch)
        captures = capture_rounds(place, scratch, rounds)
        rewinds = rewind_rounds(place, scratch, 3 if size >= 100_000 else 5)
    return {"first": first, "captures": captures, "rewinds": rewinds}


def first_capture(place: Path, scratch: Path) -> dict[str, Any]:
    """Captures a workspace that was never captured, in a whole process."""
    home = scratch / "first"
    spent = WholeProcess(place, home).run()
    size, inodes = _disk(home)
    seen = sum(f.stat().st_size for f in place.rglob("*.py"))
    row = {"ms": spent, "bytes": size, "inodes": inodes, "captured_bytes": seen}
    print(
        f"first capture: {spent / 1000:.2f} s for {seen >> 20} MB, "
        f"store {size >> 20} MB, {inodes} files in the store"
    )
    shutil.rmtree(home)
    return row


def capture_rounds(place: Path, scratch: Path, rounds: int) -> dict[str, Any]:
    """Has every contestant capture each turn, in rotating order, and takes medians."""
    homes = {"whole": scratch / "whole", "inside": scratch / "inside"}
    contestants: list[Contestant] = [
        EmptyIndex(place, scratch),
        ShadowIndex(place, scratch),
        RawWalk(place),
        WalkInC(place, scratch),
        BarePython(place),
        WholeProcess(place, homes["whole"]),
        InProcess(place, homes["inside"]),
    ]
    for contestant in contestants:
        contestant.prepare()
    time.sleep(0.2)
    for contestant in contestants:  # the first look after the first capture is a racy one
        contestant.run()
    turns = Turns(place)
    spent: dict[str, list[float]] = {c.name: [] for c in contestants}
    size_before, files_before = _disk(homes["whole"])
    for number in range(rounds):
        turns.play()
        time.sleep(0.1)
        shift = number % len(contestants)
        for contestant in contestants[shift:] + contestants[:shift]:
            spent[contestant.name].append(contestant.run())
    size_after, files_after = _disk(homes["whole"])
    base = median(spent[contestants[0].name])
    print("| one capture | median ms | min ms | times faster than the first |\n|---|---|---|---|")
    rows = {}
    for name, values in spent.items():
        rows[name] = {"median": median(values), "min": min(values), "ratio": base / median(values)}
        print(
            f"| {name} | {median(values):.1f} | {min(values):.1f} | {base / median(values):.1f} |"
        )
    grown = (size_after - size_before) / rounds
    inodes = (files_after - files_before) / rounds
    print(f"\ndisk per turn: {grown / 1024:.0f} KB, {inodes:.1f} inodes")
    return {"rows": rows, "bytes_per_turn": grown, "inodes_per_turn": inodes}


def rewind_rounds(place: Path, scratch: Path, rounds: int) -> dict[str, Any]:
    """Rewinds edits of 14 and of 1000 files: whole operation, and the apply part alone."""
    from bench.rewinds import crowded_directory, reverts_beside_rewinds, timed_rewind

    inside = InProcess(place, scratch / "rewinds")
    inside.prepare()
    turns = Turns(place)
    rows = {}
    print("\n| rewind | whole operation ms | writing the files alone ms |\n|---|---|---|")
    for count in (14, 1000):
        whole, alone = [], []
        for _ in range(rounds):
            before = inside.takeback.checkpoint(allow_large=True).checkpoint
            time.sleep(0.1)
            turns.edit(min(count, 900) if count > 14 else count)
            time.sleep(0.1)
            took = timed_rewind(inside.takeback, before)
            whole.append(took.whole)
            alone.append(took.apply)
        rows[str(count)] = {"whole": median(whole), "apply": median(alone)}
        print(f"| {count} files | {median(whole):.0f} | {median(alone):.0f} |", flush=True)
    reverts = reverts_beside_rewinds(inside.takeback, place, 14, rounds)
    rows["revert"] = {name: median(values) for name, values in reverts._asdict().items()}
    plain = median(reverts.rewind)
    print(
        f"\nrevert of a turn that changed 14 files: {median(reverts.untouched) / plain:.1f} times "
        f"a rewind of 14 files ({plain:.0f} ms), and {median(reverts.merged) / plain:.1f} times "
        "where all of them were changed again since and are merged"
    )
    crowd = crowded_directory(scratch, _CROWD)
    rows["crowd"] = crowd._asdict()
    print(
        f"\n{_CROWD} files in one new directory: captured in {crowd.capture / 1000:.1f} s, "
        f"taken away in {crowd.away / crowd.capture:.1f} times that, brought back in "
        f"{crowd.back / crowd.capture:.1f} times that"
    )
    return rows


def _disk(place: Path) -> tuple[int, int]:
    """Returns bytes on disk and files of the repository part of a store."""
    size = inodes = 0
    for path in place.rglob("*"):
        status = path.lstat()
        size += status.st_blocks * 512
        inodes += 1 if "objects" in path.parts and path.is_file() else 0
    return size, inodes


if __name__ == "__main__":
    main()
