"""The lanes of the test suite, each a part of the next.

    make quick       what a contributor runs at each save     neither `slow` nor `long`
    make test        every behaviour, agent and promise       not `long`
    make test-long   the rest of the long campaigns           `long` alone
    make soak        the same campaigns, for hours            all, with higher counts

A campaign (a kill at each step, random kills, races) is cut into shares. Each share goes through
all of it in larger steps, beginning at another one, so the first share alone meets every kind of
step; `make test` runs that one and the long lane the others, or the next few of very many. Of a
long table of cases `make test` takes each so many'th.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

SLOW = (
    "acp/test_proxy.py",
    "agents/",
    "cli/test_apply.py",
    "cli/test_bisect.py",
    "cli/test_commands.py",
    "cli/test_demo.py",
    "cli/test_dialogue.py",
    "cli/test_init.py",
    "cli/test_main.py",
    "cli/test_output.py",
    "cli/test_pager.py",
    "cli/test_plain.py",
    "cli/test_reference.py",
    "cli/test_revert.py",
    "cli/test_run.py",
    "cli/test_sessions.py",
    "cli/test_status.py",
    "cli/test_two_machines.py",
    "conformance/",
    "contract/test_example.py",
    "crash/",
    "examples/",
    "gate/",
    "git/test_bounds.py",
    "git/test_pack.py",
    "git/test_packs.py",
    "rooms/test_backlog.py",
    "rooms/test_bisect.py",
    "rooms/test_capture_imports.py",
    "rooms/test_listening.py",
    "rooms/test_prune.py",
    "rooms/test_purge.py",
    "rooms/test_recover.py",
    "rooms/test_refolding.py",
    "rooms/test_said.py",
    "rooms/test_shedding.py",
    "rooms/test_sweep.py",
    "rooms/test_sweeping.py",
    "page/",
    "property/",
    "serve/",
    "soak/",
    "test_app_summaries.py",
    "test_beside.py",
    "test_client.py",
    "test_doorkeeper.py",
    "test_holding.py",
    "test_hook.py",
    "test_installed.py",
    "test_own_code.py",
    "test_prompt_command.py",
    "test_remembered.py",
    "test_standby.py",
    "test_stdio.py",
    "tui/test_detail.py",
    "tui/test_first_frame.py",
    "tui/test_flow.py",
    "tui/test_list.py",
    "tui/test_palette.py",
    "tui/test_picker.py",
    "tui/test_pictures.py",
    "tui/test_stages.py",
    "tui/test_terminal.py",
    "tui/test_ticks.py",
    "tui/test_trouble.py",
)
"""Black boxes and campaigns: processes by the hundred, real agents, real terminals."""


_LONG = re.compile(
    rb"\bmark\.long\b|(?<!def )\b(?:shares|cases|clients)\(|^from tests\S*\.test_", re.MULTILINE
)


def has_long(path: Path) -> bool:
    """Tells whether a file of tests may have some for the long lane, without importing it.

    It says so itself, or has its marks from another file of tests.
    """
    return _LONG.search(path.read_bytes()) is not None


def shares(count: int, *, long: int | None = None) -> pytest.MarkDecorator:
    """Cuts a campaign into shares: the first for `make test`, the rest for the long lane.

    With ``long`` only so many of the rest; the others are for the soak.
    """
    last = count if long is None else long
    marks = [
        (),
        *((pytest.mark.long if at <= last else pytest.mark.soak,) for at in range(1, count)),
    ]
    return pytest.mark.parametrize(
        "share", [pytest.param(at, marks=mark) for at, mark in enumerate(marks)]
    )


def cases(names: str, *values: Iterable[Any], each: int) -> pytest.MarkDecorator:
    """Makes a test of each combination: each so many'th for `make test`, the rest long.

    With a number that no list's length divides, each value of each list is met.
    """
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(*case, marks=() if number % each == 0 else pytest.mark.long)
            for number, case in enumerate(product(*values))
        ],
    )


def later(value: object) -> Any:
    """Returns a parameter that is left to the long lane."""
    return pytest.param(value, marks=pytest.mark.long)
