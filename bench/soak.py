"""Plays a campaign of months (tests/soak) and prints what it cost; draws the size of the store."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench.chart import Chart, draw
from tests.soak.campaign import DAYS, LATENCIES, Campaign, Report, Sample, Size
from tests.support.sealed import sealed_environment

MB = 1 << 20
FILES = 2_000


def measure_soak(turns: int, place: Path) -> dict[str, Any]:
    """Plays so many turns and leaves the picture in ``place``."""
    size = Size(turns, FILES, max(6, -(-turns * 5_000 // MB)) * MB)  # a bound soon reached
    print(f"\n## {turns:,} turns on {size.files:,} files, {DAYS} days\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="takeback-soak-", ignore_cleanup_errors=True) as name:
        environ = dict(os.environ)
        os.environ.clear()
        os.environ.update(sealed_environment(Path(name)))
        try:
            campaign = Campaign(Path(name), size, seed=7, tell=_tell)
            signal.signal(signal.SIGINT, lambda *_: campaign.stop())  # no turn is left half-played
            report = campaign.run()
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.environ.clear()
            os.environ.update(environ)
    place.mkdir(parents=True, exist_ok=True)
    (place / "soak.svg").write_text(_picture(report))
    return _table(report)


def _tell(sample: Sample) -> None:
    print(f"turn {sample.turn:,}: store {sample.store / MB:.1f} MB, {sample}", flush=True)


def _picture(report: Report) -> str:
    size = report.size
    return draw(
        Chart(
            title=f"size of the store, {size.turns:,} turns on {size.files:,} files",
            across="turns",
            up="MB",
            lines={"": [(0, 0), *((sample.turn, sample.store / MB) for sample in report.samples)]},
            bound=(size.max_bytes / MB, f"max_bytes: {size.max_bytes // MB} MB"),
        )
    )


def _table(report: Report) -> dict[str, Any]:
    samples = report.samples
    few = min(LATENCIES, len(report.latencies) // 3)
    begin = samples[len(samples) // 10]
    row: dict[str, Any] = {
        "largest_after_a_sweep": max(report.after_sweeps),
        "largest_of_all": max(sample.store for sample in samples),
        "first_turns_ms": median(report.latencies[:few]) * 1000,
        "last_turns_ms": median(report.latencies[-few:]) * 1000,
        "slowdown": report.slowdown,
        "looking_ms": [median(s.looking for s in part) * 1000 for part in _ends(samples)],
        "memory": [median(one.memory for one in part) for part in _quarters(samples)],
        "blocks": [median(one.blocks for one in part) for part in _quarters(samples)],
        "descriptors": [begin.descriptors, max(sample.descriptors for sample in samples)],
        "counts": report.counts,
        "samples": [sample._asdict() for sample in samples],
    }
    print("| | |\n|---|---|")
    for title, value in row.items():
        if title != "samples":
            print(f"| {title} | {value} |")
    return row


def _quarters(samples: list[Sample]) -> list[list[Sample]]:
    few = max(1, len(samples) // 4)
    return [samples[at * few : (at + 1) * few] for at in range(4)]


def _ends(samples: list[Any]) -> tuple[list[Any], list[Any]]:
    few = max(1, len(samples) // 10)
    return samples[:few], samples[-few:]
