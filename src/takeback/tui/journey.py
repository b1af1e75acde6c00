"""The way through the picker's questions, one stage after the other.

    timeline ─ actions ─ plan ─ (each refusal) ─ plan ─ doing ─ after ─ timeline
                 │                                                │
              a label, a directory                      taken back: plan ─ doing ─ after

Esc goes one stage back. Everything is decided by the operations; here is only asked and shown.
"""

from __future__ import annotations

import os

from takeback.errors import UsageError
from takeback.model.policy import NO_OVERRIDES
from takeback.tui import actions
from takeback.tui.actions import place_of
from takeback.tui.after import RESUME, TAKE_BACK, AfterScreen
from takeback.tui.asking import AskScreen
from takeback.tui.choices import ActionsScreen
from takeback.tui.doing import working
from takeback.tui.operations import OperationsScreen
from takeback.tui.plan import PlanScreen, RefusalScreen
from takeback.tui.trouble import SaidScreen, TroubleScreen, trouble
from takeback.words import choices as words
from takeback.words.render import way_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, TypeVar

    from takeback.app import Takeback
    from takeback.app.errand import Errand
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.plan import Outcome, Plan
    from takeback.model.policy import Overrides
    from takeback.ops.choices import Choices
    from takeback.ops.timeline import TimelineEntry
    from takeback.tui.desk import Desk
    from takeback.tui.picker import PickerApp

    T = TypeVar("T")


async def travel(
    app: PickerApp, desk: Desk, entry: TimelineEntry, ticked: frozenset[bytes]
) -> Outcome | None:
    """Asks what to do at an entry and does it; returns the last outcome, None if there is none."""
    return await _guarded(app, desk, _travel(app, desk, entry, ticked))


async def step(app: PickerApp, desk: Desk, kind: str) -> Outcome | None:
    """Undoes or redoes the last operation, through the plan like everything else."""
    return await _guarded(app, desk, _step(app, desk, kind))


async def operations(app: PickerApp, desk: Desk) -> Outcome | None:
    """Shows the operation log, and goes to before or after an operation that is chosen there."""
    return await _guarded(app, desk, _operations(app, desk))


async def label(app: PickerApp, desk: Desk, entry: TimelineEntry) -> None:
    """Asks for the label of an entry's checkpoint."""
    await _guarded(app, desk, _label(app, desk, entry.checkpoint.id))


# -- the stages


async def _travel(
    app: PickerApp, desk: Desk, entry: TimelineEntry, ticked: frozenset[bytes]
) -> Outcome | None:
    if not await _is_whole(app, desk):
        return None
    place, at = place_of(entry), None
    while True:
        found = await working(app, desk, words.LOOKING, _choices(place.checkpoint))
        offered = actions.actions(found, entry, place, ticked)
        chosen = await app.push_screen_wait(ActionsScreen(found.about, offered, at=at))
        if chosen is None:
            return None
        at = chosen.name
        if at in (actions.END, actions.BEFORE):
            place = place.turned()
            at = None
            continue
        if at == actions.COPY:
            app.copy_to_clipboard(found.checkpoint.id)
            app.notify(f"Copied: {found.checkpoint.id}", markup=False)
            return None
        if at == actions.LABEL:
            if await _label(app, desk, found.checkpoint.id):
                return None
            continue
        errand = await _errand(app, desk, at, found, ticked)
        if errand is None:
            continue
        outcome = await _agree_and_go(app, desk, errand)
        if outcome is not None:
            return await _arrive(app, desk, errand, outcome)


def _choices(checkpoint: str) -> Callable[[Takeback], Choices]:
    return lambda tb: tb.choices(checkpoint)


async def _errand(
    app: PickerApp, desk: Desk, name: str, found: Choices, ticked: frozenset[bytes]
) -> Errand | None:
    """Returns what is to be done; None if the person stepped back from a directory's name."""
    directory = None
    if name == actions.FORK_DIRECTORY:
        root = os.fsdecode(await desk.ask(lambda tb: tb.root))
        directory = await _checked(
            app,
            desk,
            (words.DIRECTORY, words.DIRECTORY_ABOUT, f"{root}-{found.checkpoint.id[:4]}"),
            lambda tb, typed: tb.new_directory(os.path.expanduser(typed)),
        )
        if directory is None:
            return None
    return actions.errand_of(name, found, ticked=ticked, directory=directory)


async def _label(app: PickerApp, desk: Desk, checkpoint: str) -> bool:
    """Gives a checkpoint a label; False if the person stepped back."""
    before = await desk.ask(lambda tb: tb.find(checkpoint))
    after = await _checked(
        app,
        desk,
        (f"Label {checkpoint}", words.LABEL_ABOUT, before.label or ""),
        lambda tb, typed: tb.label(before, typed or None),
    )
    if after is None:
        return False
    app.notify(words.labelled(before, after), markup=False)
    return True


async def _checked(
    app: PickerApp,
    desk: Desk,
    asked: tuple[str, str, str],
    take: Callable[[Takeback, str], T],
) -> T | None:
    """Asks for a line until it is one that can be taken; None if the person stepped back."""
    question, about, value = asked
    while True:
        typed = await app.push_screen_wait(AskScreen(question, about, value=value))
        if typed is None:
            return None
        try:
            return await desk.ask(_taking(take, typed))
        except UsageError as error:
            about, value = error.message, typed


def _taking(take: Callable[[Takeback, str], T], typed: str) -> Callable[[Takeback], T]:
    return lambda tb: take(tb, typed)


async def _agree_and_go(app: PickerApp, desk: Desk, errand: Errand) -> Outcome | None:
    """Shows the plan until it is agreed to and carried out; None if the person stepped back."""
    overrides, note = NO_OVERRIDES, None
    while True:
        plan = await working(app, desk, words.PLANNING, _planned(errand, overrides))
        agreed = [name for name in words.ANSWERABLE if getattr(overrides, name)]
        if not await app.push_screen_wait(PlanScreen(errand, plan, agreed=agreed, note=note)):
            return None
        note = None
        if plan.refused:
            given = await _answers(app, plan)
            # Stepping back to the plan takes back what was waived on the way, too.
            overrides = NO_OVERRIDES if given is None else overrides.replace(**given)
            continue
        done = await working(
            app,
            desk,
            words.doing(errand.kind),
            _going(errand, overrides, plan),
            changes=True,
            noted=lambda outcome: app.note_done(words.farewell(outcome, errand.of)),
        )
        if done is not None:
            return done
        overrides, note = NO_OVERRIDES, words.NEW_PLAN


def _planned(errand: Errand, overrides: Overrides) -> Callable[[Takeback], Plan]:
    return lambda tb: errand.plan(tb, overrides)


def _going(
    errand: Errand, overrides: Overrides, plan: Plan
) -> Callable[[Takeback], Outcome | None]:
    return lambda tb: errand.go(tb, overrides, shown=plan)


async def _answers(app: PickerApp, plan: Plan) -> dict[str, bool] | None:
    """Asks about each refusal by itself; returns the fields of ``Overrides`` that were chosen."""
    given: dict[str, bool] = {}
    for number, refusal in enumerate(plan.refused, 1):
        question = words.refusal(refusal, plan)
        answer = await app.push_screen_wait(RefusalScreen(question, number, len(plan.refused)))
        if answer is None:
            return None
        given[answer.field] = True
    return given


async def _arrive(app: PickerApp, desk: Desk, errand: Errand, outcome: Outcome) -> Outcome:
    """Shows what was done, as often as it is taken back from there."""
    while True:
        wish = await app.push_screen_wait(AfterScreen(outcome, errand.of))
        if wish == RESUME:
            app.resume_with = outcome.resume
            app.exit()
        back = way_back(outcome)
        if wish != TAKE_BACK or back is None:
            return outcome
        again = await _next_step(desk, back)
        done = await _agree_and_go(app, desk, again)
        if done is not None:
            errand, outcome = again, done


async def _next_step(desk: Desk, kind: str) -> Errand:
    from takeback.app import errand as errands

    def question(tb: Takeback) -> Errand:
        found = tb.next_undo() if kind == "undo" else tb.next_redo()
        return errands.step(kind, found.operation)

    return await desk.ask(question)


async def _step(app: PickerApp, desk: Desk, kind: str) -> Outcome | None:
    if not await _is_whole(app, desk):
        return None
    errand = await _next_step(desk, kind)
    outcome = await _agree_and_go(app, desk, errand)
    return None if outcome is None else await _arrive(app, desk, errand, outcome)


async def _operations(app: PickerApp, desk: Desk) -> Outcome | None:
    from takeback.app import errand as errands

    if not await _is_whole(app, desk):
        return None
    while True:
        log, now = await desk.ask(lambda tb: (tb.operation_log(), tb.now))
        name = await app.push_screen_wait(OperationsScreen(log, now))
        if name is None:
            return None
        errand = errands.rewind(await desk.ask(_finding(name)), scope="files")
        outcome = await _agree_and_go(app, desk, errand)
        if outcome is not None:
            return await _arrive(app, desk, errand, outcome)


def _finding(name: str) -> Callable[[Takeback], Checkpoint]:
    return lambda tb: tb.find(name)


# -- when something goes wrong


async def _guarded(app: PickerApp, desk: Desk, journey: Coroutine[Any, Any, T]) -> T | None:
    """Lets a journey end in words, whatever happens; the picker goes on."""
    try:
        return await journey
    except Exception as error:  # noqa: BLE001 - a bug must not take the terminal down
        await _tell(app, desk, error)
        return None


async def _tell(app: PickerApp, desk: Desk, error: Exception) -> None:
    while True:
        screen = trouble(error, interrupted=await _is_interrupted(desk))
        if not await app.push_screen_wait(screen):
            return
        try:
            await _recover(app, desk)
            return
        except Exception as again:  # noqa: BLE001 - as above
            error = again


async def _is_interrupted(desk: Desk) -> bool:
    try:
        return await desk.ask(lambda tb: tb.interrupted)
    except Exception:  # noqa: BLE001 - then the error itself says all that is known
        return False


async def _is_whole(app: PickerApp, desk: Desk) -> bool:
    """Recovers what was interrupted, if the person wants it; a plan is about whole files."""
    if not await desk.ask(lambda tb: tb.interrupted):
        return True
    if not await app.push_screen_wait(TroubleScreen([words.INTERRUPTED], interrupted=True)):
        return False
    await _recover(app, desk)
    return True


async def _recover(app: PickerApp, desk: Desk) -> None:
    done = await working(
        app,
        desk,
        words.RECOVERING,
        lambda tb: tb.recover(),
        changes=True,
        noted=lambda done: app.note_done(words.recovered(done)),
    )
    await app.push_screen_wait(SaidScreen(words.recovered(done)))
