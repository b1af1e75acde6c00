"""Months of work in one workspace: small, exact, as fast at the end as at the beginning."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.store.store import MOST_PACKS
from tests.soak.campaign import Campaign, Sample, Size

MB = 1 << 20
MEMORY = 160 * MB
"""What a program that stays open ever needs beside what it had after some turns."""
SIZES = {
    "40 turns": pytest.param(Size(40, 100, 3 * MB, often=8.0)),
    "300 turns": pytest.param(Size(300, 200, 8 * MB, often=2.0), marks=pytest.mark.long),
    "5000 turns": pytest.param(Size(5_000, 2_000, 24 * MB), marks=pytest.mark.soak),
}

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks into /proc")


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_it_stays_small_and_exact(
    tmp_path: Path, size: Size, record_property: Callable[[str, object], None]
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    record_property("seed", seed)
    report = Campaign(tmp_path, size, seed=seed).run()
    record_property("counts", dict(report.counts))
    record_property("slowdown", report.slowdown)
    assert report.counts["rewinds"]
    assert max(report.after_sweeps) <= size.max_bytes
    third = len(report.samples) // 3
    early, late = report.samples[:third], report.samples[-third:]
    packs = MOST_PACKS + report.samples[0].descriptors  # each is open; more become one
    assert _most(late, "descriptors") <= max(_most(early, "descriptors") + 10, packs)
    before, after = report.memory
    assert after <= before * (1.25 if size.turns > 1_000 else 2.0)
    assert _most(late, "memory") <= report.samples[0].memory + MEMORY
    assert _most(late, "ended") <= 10


def _most(samples: list[Sample], what: str) -> int:
    found: int = max(getattr(sample, what) for sample in samples)
    return found
