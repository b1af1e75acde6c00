"""Measures what a large file and a large tree take on the disk, before and after maintenance.

Turns are played one after the other with nothing in between, then one sweep is made in a process of
its own, as the hooks start it. Afterwards every version that is still kept is read back.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench.repositories import Turns, cache_directory, repository
from takeback.app.engine import Engine
from takeback.errors import Expired
from takeback.retention import sweep
from takeback.words.status import status_lines
from takeback.words.text import Paint

_LARGE = 150 << 20
_PIECE = 64 << 10
_SETTINGS = "size_limit_mb = 200\n"
Edit = Callable[[int], None]


def measure_disk(*, turns: int, tree_turns: int) -> dict[str, Any]:
    """Plays all three; ``turns`` of the large file, ``tree_turns`` on 100,000 files."""
    base = cache_directory()
    base.mkdir(parents=True, exist_ok=True)
    rows = {}
    plays: dict[str, Callable[[Path], dict[str, Any]]] = {
        "150 MB, 64 KB of it rewritten each turn": partial(_large, turns=turns, whole=False),
        "150 MB, all of it rewritten each turn": partial(_large, turns=turns, whole=True),
        "100,000 files, 14 changed each turn": partial(_tree, turns=tree_turns),
    }
    for title, play in plays.items():
        with tempfile.TemporaryDirectory(dir=base, prefix="disk-") as name:
            print(f"\n## {title}\n", flush=True)
            rows[title] = play(Path(name))
    _print(rows)
    return rows


def _large(scratch: Path, turns: int, *, whole: bool) -> dict[str, Any]:
    place = scratch / "project"
    place.mkdir()
    chance = random.Random(1)
    file = place / "model.bin"
    file.write_bytes(chance.randbytes(_LARGE))

    def edit(number: int) -> None:
        if whole:
            file.write_bytes(chance.randbytes(_LARGE))
            return
        with file.open("r+b") as opened:
            opened.seek(chance.randrange(_LARGE - _PIECE))
            opened.write(chance.randbytes(_PIECE))

    return _played(scratch, place, edit, turns, watched="model.bin")


def _tree(scratch: Path, turns: int) -> dict[str, Any]:
    place = scratch / "project"
    shutil.copytree(repository(100_000), place, symlinks=True)
    played = Turns(place)
    return _played(scratch, place, lambda number: played.play(), turns, watched=None)


def _played(
    scratch: Path, place: Path, edit: Edit, turns: int, *, watched: str | None
) -> dict[str, Any]:
    environ = {
        "HOME": str(scratch / "home"),
        "TAKEBACK_HOME": str(scratch / "store"),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "PATH": os.environ["PATH"],
    }
    settings = scratch / "config" / "takeback" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(_SETTINGS)
    spent, hashes = [], {}
    with Engine.open(place, environ=environ) as tb:
        session = tb.session(agent="bench", native="s")
        for number in range(1, turns + 1):
            with session.turn(f"turn {number}"):
                edit(number)
                edited = time.perf_counter()
            spent.append(time.perf_counter() - edited)
            if watched is not None:
                hashes[number] = _hash((place / watched).read_bytes())
        before = tb.status()
        said_before = _said(tb)
    row: dict[str, Any] = {
        "turn_end_ms": median(spent) * 1000,
        "last_turn_ends_ms": median(spent[-5:]) * 1000,
        "before": before.bytes,
        "status_before": said_before,
    }
    row.update(_swept(before.store, environ))
    with Engine.open(place, environ=environ) as tb:
        began = time.perf_counter()
        tb.status()
        row["status_ms"] = (time.perf_counter() - began) * 1000
        row["after"] = tb.status().bytes
        row["expired"] = tb.status().expired
        row["status_after"] = _said(tb)
        row["kept_versions"] = sum(_is_there(tb, place, watched, n, h) for n, h in hashes.items())
        began = time.perf_counter()
        row["problems"] = len(tb.verify(read_data=True).problems)
        row["verify_s"] = time.perf_counter() - began
    for name in ("status_before", "status_after"):
        print("\n".join(f"    {line}" for line in row[name]), "\n", flush=True)
    return row


def _swept(store: str, environ: dict[str, str]) -> dict[str, Any]:
    """Makes one sweep in a child; returns its seconds and the most memory that git had."""
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.environ.clear()
        os.environ.update(environ)
        sweep.run(store, at_start=False)  # not niced: the work counts, not the other load
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        git = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        Path(store, "bench").write_text(f"{own} {git}")
        os._exit(0)
    os.waitpid(pid, 0)
    told = Path(store, "bench")
    own, git = map(int, told.read_text().split())
    told.unlink()
    scale = 1 if sys.platform == "darwin" else 1024
    spent = time.perf_counter() - began
    return {"sweep_s": spent, "sweep_bytes": own * scale, "git_bytes": git * scale}


def _is_there(tb: Engine, place: Path, watched: str | None, number: int, expected: str) -> bool:
    assert watched is not None
    try:
        data = tb.cat(f"bench-s/turn:{number}.end", str(place / watched))
    except Expired:
        return False
    assert _hash(data) == expected, f"turn {number} does not come back"
    return True


def _hash(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def _said(tb: Engine) -> list[str]:
    wanted = ("in the store", "mostly", "keep it out", "larger than", "packing anew")
    lines = status_lines(tb.status(), Paint(on=False), time.time())
    return [line for line in lines if any(word in line for word in wanted)]


def _print(rows: dict[str, dict[str, Any]]) -> None:
    print("| | disk before | after a sweep | it took | memory: takeback, git | a turn's end |")
    print("|---|---|---|---|---|---|")
    for title, row in rows.items():
        disk = f"{row['before'] >> 20} MB | {row['after'] >> 20} MB"
        memory = f"{row['sweep_bytes'] >> 20}, {row['git_bytes'] >> 20} MB"
        spent = f"{row['sweep_s']:.0f} s"
        print(f"| {title} | {disk} | {spent} | {memory} | {row['turn_end_ms']:.0f} ms |")
