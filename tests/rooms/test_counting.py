"""Lines are a decoration: what cannot be counted in its time is a change all the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.ledger import ledger as gaps
from takeback.ledger.attribute import Limits, count_lines, counted_changes
from takeback.ledger.follow import catch_up, open_ledger
from takeback.ledger.ledger import Ledger
from takeback.model.checkpoint import CountedChange
from tests.support.engine import checkpoint, garble

SHORT = Limits(patience=1.5)


@pytest.fixture
def ledger(context: Context) -> Ledger:
    return open_ledger(context.store, context.reporter)


def lines_of(ledger: Ledger) -> list[list[tuple[bytes, int | None, int | None]]]:
    """Returns what each checkpoint says of its changes, the newest first."""
    return [
        [(change.path, change.added, change.deleted) for change in ledger.changes(found.id)]
        for found in ledger.checkpoints()
    ]


def count(context: Context, ledger: Ledger, limits: Limits = SHORT) -> None:
    catch_up(context.store, ledger, context.reporter)
    ids = [found.id for found in ledger.checkpoints()]
    count_lines(context.store, ledger, ids, limits=limits)


def shuffle(root: Path, seed: int) -> None:
    """Writes files of many short lines in an order of its own: seconds of work for git."""
    chance = random.Random(1)
    lines = [f"{chance.getrandbits(20):05x}\n" for _ in range(150_000)]
    random.Random(seed).shuffle(lines)
    for name in ("slow1", "slow2", "slow3"):
        (root / name).write_text("".join(lines))


SLOW = [(b"slow1", None, None), (b"slow2", None, None), (b"slow3", None, None)]


@pytest.mark.slow
def test_lines_in_another_order_take_no_counts_from_the_other_checkpoints(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    for number in range(6):
        if number in (1, 2, 4):
            shuffle(workspace, number)
        (workspace / "a").write_text("1\n" * number)
        checkpoint(context)
    count(context, ledger)
    # the first order is an addition, quickly counted; the others take longer than allowed
    newest, four, three, two, one, first = lines_of(ledger)
    assert newest == [(b"a", 1, 0)]
    assert four == [(b"a", None, None), *SLOW]
    assert three == [(b"a", 1, 0)]
    assert two == [(b"a", None, None), *SLOW]
    assert one == [(b"a", 1, 0)] + [(name, 150_000, 0) for name, _, _ in SLOW]
    assert first == []
    assert ledger.rows("select * from uncounted") == []  # they are not tried again
    ledger.close()


def test_a_large_text_in_another_order_is_a_change_without_counts(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    rows = [f"{number},{number * 7919 % 10007},some text of a row\n" for number in range(60_000)]
    for seed in (1, 2):
        random.Random(seed).shuffle(rows)
        (workspace / "data.csv").write_text("".join(rows))
        (workspace / "a").write_text(f"{seed}\n")
        checkpoint(context)
    count(context, ledger)
    assert lines_of(ledger) == [[(b"a", 1, 1), (b"data.csv", None, None)], []]
    ledger.close()


def test_what_the_budget_leaves_out_is_counted_the_next_time(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    for number in range(4):
        (workspace / "a").write_text("1\n" * number)
        checkpoint(context)
    count(context, ledger, Limits(budget=0.0))
    uncounted, counted = [(b"a", None, None)], [(b"a", 1, 0)]
    assert lines_of(ledger) == [uncounted, uncounted, uncounted, []]
    newest = ledger.checkpoints()[0]
    count_lines(context.store, ledger, [newest.id])
    assert lines_of(ledger) == [counted, uncounted, uncounted, []]
    count(context, ledger)
    assert lines_of(ledger) == [counted, counted, counted, []]
    ledger.close()


def test_many_pairs_are_counted_in_pieces(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    for number in range(8):
        (workspace / "a").write_text("1\n" * number)
        checkpoint(context)
    count(context, ledger, Limits(pairs=3))
    assert lines_of(ledger) == [[(b"a", 1, 0)]] * 7 + [[]]
    ledger.close()


def test_a_damaged_file_takes_the_counts_of_its_own_pairs_only(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    for number in range(6):
        (workspace / "a").write_text(f"{number}\n")
        checkpoint(context)
    damaged = bytes.fromhex(ledger_snapshot(context, ledger, 2))
    [(_, _, blob)] = [row for row in context.store.tree(damaged) if row[1] == b"a"]
    garble(context.store, blob)
    count(context, ledger)
    uncounted, counted = [(b"a", None, None)], [(b"a", 1, 1)]
    assert lines_of(ledger) == [counted, counted, uncounted, uncounted, counted, []]
    ledger.close()


def ledger_snapshot(context: Context, ledger: Ledger, place: int) -> str:
    catch_up(context.store, ledger, context.reporter)
    return ledger.checkpoints()[::-1][place].snapshot


def test_what_was_counted_of_other_trees_meanwhile_is_not_written(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    for number in range(2):
        (workspace / "a").write_text("1\n" * number)
        checkpoint(context)
    catch_up(context.store, ledger, context.reporter)
    newest = ledger.checkpoints()[0]
    stale = gaps.Uncounted(newest.id, gaps.CHECKPOINT, "a" * 40, newest.snapshot)
    gaps.set_lines(ledger, stale, {b"a": (99, 99)})
    assert lines_of(ledger)[0] == [(b"a", None, None)]
    count(context, ledger)
    assert lines_of(ledger)[0] == [(b"a", 1, 0)]
    ledger.close()


def test_where_git_cannot_start_there_are_changes_without_counts(
    workspace: Path, context: Context, ledger: Ledger
) -> None:
    (workspace / "a").write_text("1\n")
    old = bytes.fromhex(checkpoint(context).snapshot)
    (workspace / "a").write_text("2\n")
    new = bytes.fromhex(checkpoint(context).snapshot)
    context.store.git.program = "/nowhere/git"
    assert counted_changes(context.store, old, new) == [CountedChange(b"a", "modified", None, None)]
    count(context, ledger)
    assert lines_of(ledger) == [[(b"a", None, None)], []]
    ledger.close()
