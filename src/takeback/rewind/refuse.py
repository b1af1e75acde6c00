"""What must hold before a rewind, and what is known of who else is at work."""

from __future__ import annotations

import os

from takeback.capture.capture import saved_since
from takeback.errors import StoreDamaged
from takeback.ledger import by_session as questions
from takeback.ledger.attribute import beyond
from takeback.ledger.ledger import lineage
from takeback.model.checkpoint import AMID
from takeback.model.conflicts import CHOICES
from takeback.model.coverage import KEEP_OTHERS, OVERWRITE_OTHERS
from takeback.model.entries import OUTSIDE
from takeback.model.ids import WORKSPACE_SESSION, SessionId
from takeback.model.operation import (
    COLLIDING_NAMES,
    CONFLICTS,
    DISK_SPACE,
    DURING_GIT,
    DURING_TURN,
    INSIDE_TURN,
    MASS_DELETE,
    OTHER_BRANCH,
    OTHERS,
    REDO,
    UNDO,
    Refusal,
    changed_too,
    history,
    moves,
)
from takeback.model.path_text import to_text
from takeback.model.turn import PROMPT
from takeback.ordinary import all_names
from takeback.rewind.request import Facts
from takeback.store import trees
from takeback.store.location import read_location
from takeback.store.records import read_operations
from takeback.turns import running
from takeback.turns.running import RunningTurn, running_turns
from takeback.visible import shown
from takeback.worktree import project
from takeback.worktree.project import differ, staged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from takeback.capture.capture import Captured
    from takeback.context import Context
    from takeback.ledger.ledger import Ledger, Lineage
    from takeback.model.checkpoint import Change, Checkpoint
    from takeback.model.coverage import Overrides
    from takeback.model.entries import OwnedChange, Turn
    from takeback.model.ids import SnapshotId
    from takeback.model.operation import Move
    from takeback.rewind.prepare import Prepared
    from takeback.rewind.request import Request
    from takeback.store.store import Store
    from takeback.turns.left_running import LeftRunning


# -- what must hold before a rewind; each refusal has its reason and, usually, its own flag


_A_FEW = 20
_FIRST = 3
_MIXTURE = "some of its files are as they were before that operation, some as after it"


def refusals(
    context: Context, captured: Captured, request: Request, changes: Prepared
) -> tuple[Refusal, ...]:
    """Returns every precondition that does not hold and is not waived.

    If only the conversation moves, that does not affect other agents at work, what other sessions
    did, or what is checked out.
    """
    facts, overrides = request.facts, request.overrides
    found = [
        *_called_by_the_model(context, facts),
        *_turn_running(facts, overrides, everywhere=request.scope.files),
    ]
    if request.scope.files:
        found += [
            *_overwriting(changes, facts, overrides),
            *_mass_deletion(captured, changes, overrides),
            *_git_busy(context, overrides),
            *_other_branch(context, request),
            *_colliding_names(context, changes.writes),
            *_disk_space(context, changes.writes),
            *_conflicts(request),
        ]
    return tuple(one.replace(message=shown(one.message)) for one in found)


def _conflicts(request: Request) -> Iterator[Refusal]:
    """Where two changed the same thing, somebody has to choose."""
    paths: dict[str, dict[bytes, None]] = {}
    for one in request.conflicts:
        at_once = f"changed by {' and '.join(one.sessions)} at once"
        said = at_once if one.sessions else changed_too(request.kind)
        paths.setdefault(said, {})[one.path] = None
    if paths:
        offered = [one.choices for one in request.conflicts]
        common = tuple(name for name in CHOICES if all(name in one for one in offered))
        message = "; ".join(f"{said}: {_some(list(some))}" for said, some in paths.items())
        yield Refusal(CONFLICTS, message, choices=common)


def _some(paths: Sequence[bytes]) -> str:
    more = f" and {len(paths) - _FIRST} more" if len(paths) > _FIRST else ""
    return ", ".join(to_text(path) for path in paths[:_FIRST]) + more


def _called_by_the_model(context: Context, facts: Facts) -> Iterator[Refusal]:
    """A model that calls takeback from its own tool may read and checkpoint, not rewind."""
    inside = facts.inside
    if inside is not None and (inside.is_elsewhere or not context.policy.agent_may_rewind):
        yield Refusal(INSIDE_TURN, running.called_from(inside))


def _turn_running(facts: Facts, overrides: Overrides, *, everywhere: bool) -> Iterator[Refusal]:
    if overrides.during_turn:
        return
    for turn in facts.running:
        if everywhere or turn.session in facts.family:
            doing, first = "is working on", "press Esc there first"
            if turn.background:
                doing, first = "has background tasks running since", "let them end first"
            prompt = running.quoted(turn.prompt)
            said = f"{turn.agent} {doing} {prompt}{left_commands(turn)}; {first}"
            yield Refusal(DURING_TURN, said, (DURING_TURN,))


def left_commands(turn: RunningTurn) -> str:
    """Names what a turn left running, in brackets; empty if that is not known."""
    if not turn.commands:
        return ""
    first = [running.quoted(command) for command in turn.commands[:_FIRST]]
    rest = len(turn.commands) - len(first)
    return f" ({', '.join(first)}{f' and {rest} more' if rest else ''})"


def _overwriting(changes: Prepared, facts: Facts, overrides: Overrides) -> Iterator[Refusal]:
    if overrides.overwrite_others or overrides.keep_others:
        return
    named = others(changes, facts)
    if named:
        first = ", ".join(to_text(path) for path in named[:3])
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        sessions = ", ".join(sorted({facts.others[path] for path in named}))
        yield Refusal(
            OTHERS,
            f"another session ({sessions}) changed {first}{more} since then",
            (KEEP_OTHERS, OVERWRITE_OTHERS),
        )


def others(changes: Prepared, facts: Facts) -> tuple[bytes, ...]:
    """Returns the planned paths that another session changed since the target."""
    return tuple(sorted(path for path in changes.paths if path in facts.others))


def _mass_deletion(
    captured: Captured, changes: Prepared, overrides: Overrides
) -> Iterator[Refusal]:
    ignored = changes.ignored
    gone = sum(
        1
        for change in changes.deletes
        if change.old is not None and not change.old.is_directory and change.path not in ignored
    )
    made = any(change.old is None and not _is_directory(change) for change in changes.writes)
    everything = gone > 0 and gone >= captured.files and not made
    most = gone > _A_FEW and gone * 2 > captured.files
    if (everything or most) and not overrides.mass_delete:
        yield Refusal(
            MASS_DELETE, f"this would delete {gone} of {captured.files} files", (MASS_DELETE,)
        )


def _is_directory(change: Change) -> bool:
    return change.new is not None and change.new.is_directory


def _git_busy(context: Context, overrides: Overrides) -> Iterator[Refusal]:
    git = project.git_directory(context.workspace.root)
    doing = project.in_progress(git) if git is not None else None
    if doing is not None and not overrides.during_git:
        yield Refusal(DURING_GIT, f"a git {doing} is in progress here", (DURING_GIT,))


def warnings(context: Context, request: Request) -> tuple[str, ...]:
    """Returns what a plan has to say about its goal beforehand."""
    then = request.goal.checkpoint
    if then is None:
        return ()
    files = request.scope.files
    line = branch_line(context, then) or _staged_line(context, then) if files else None
    return tuple(text for text in (line, *about_its_files(then)) if text is not None)


def about_its_files(target: Checkpoint) -> tuple[str, ...]:
    """Returns what is not as it should be with the files of a checkpoint."""
    found = []
    if target.expired is not None:
        found.append(f"the files of {target.id} have expired: those that are here stay")
    if target.amid is not None:
        found.append(f"{target.id} was {AMID}: {_MIXTURE}")
    return tuple(found)


def branch_line(context: Context, target: Checkpoint) -> str | None:
    """Says what was checked out then and what is now, if that differs."""
    git = project.git_directory(context.workspace.root)
    if target.branch is None and target.head is None:
        return None
    if git is None:
        then = _checked_out(target.branch, target.head)
        return f"then {then}, now there is no git repository here: files go back; .git does not"
    now = project.head(git)
    if (now.branch, now.commit) == (target.branch, target.head):
        return None
    return (
        f"then {_checked_out(target.branch, target.head)}, "
        f"now {_checked_out(now.branch, now.commit)}: "
        "files go back; commits, branch and staged changes stay"
    )


def _staged_line(context: Context, target: Checkpoint) -> str | None:
    """Says that something else was staged then, if both are known."""
    git = project.git_directory(context.workspace.root)
    if git is None or not differ(target.staged, staged(git)):
        return None
    return "what is staged in git is not what was staged then: files go back; the index stays"


def _checked_out(branch: str | None, commit: str | None) -> str:
    return f"{branch or 'detached'}@{commit[:7] if commit else 'unborn'}"


def _other_branch(context: Context, request: Request) -> Iterator[Refusal]:
    then = request.goal.checkpoint
    git = project.git_directory(context.workspace.root)
    if git is None or then is None or request.overrides.other_branch:
        return
    if then.branch is None and then.head is None:
        return
    if project.head(git).branch != then.branch:
        line = branch_line(context, then) or ""
        yield Refusal(OTHER_BRANCH, f"another branch is checked out: {line}", (OTHER_BRANCH,))


def _colliding_names(context: Context, writes: Sequence[Change]) -> Iterator[Refusal]:
    """Refuses names that are the same to a file system that folds case or composes accents."""
    if not writes or not _names_fold(context.workspace.fd):
        return
    import unicodedata

    seen: dict[str, bytes] = {}
    for change in writes:
        folded = unicodedata.normalize("NFC", to_text(change.path)).casefold()
        other = seen.setdefault(folded, change.path)
        if other != change.path or ".git" in folded.split("/") or "git~1" in folded.split("/"):
            yield Refusal(
                COLLIDING_NAMES,
                f"{to_text(change.path)} and {to_text(other)} are one name on this file system",
            )


def _names_fold(root_fd: int) -> bool:
    """Looks up an existing name in another case; writes nothing."""
    names = set(all_names(root_fd))
    for name in names:
        other = name.swapcase()
        if other not in names and other.casefold() == name.casefold():
            return os.access(other, os.F_OK, dir_fd=root_fd, follow_symlinks=False)
    return False


def _disk_space(context: Context, writes: Sequence[Change]) -> Iterator[Refusal]:
    """Refuses what would not fit: every new version is written before the first change."""
    sizes = context.store.packs
    needed = 0
    for change in writes:
        if change.new is not None and change.new.is_file and sizes.has(change.new.oid):
            needed += sizes.size_of(change.new.oid)
    status = os.fstatvfs(context.workspace.fd)
    free = status.f_bavail * status.f_frsize
    if needed > free:
        yield Refusal(DISK_SPACE, f"the files need {needed >> 20} MB and {free >> 20} MB are free")


# -- whereabouts: which session a conversation is at, after everything that was done and undone
#
# A rewind of the conversation leaves one session for another, and each of them may be continued
# later. A *line* is the sessions through which rewinds have led; a fork beside it is a line of its
# own.
#
#         turns in s      at s
#         rewind A        at a      handed out by A
#         rewind B        at b
#         undo (of B)     at a      where it was before B
#         undo (of A)     at s
#         redo (of A)     at a
#         turns in s      at s      the session that was used last


def current_session(
    context: Context, ledger: Ledger, session: str, *, before: Move | None = None
) -> SessionId | None:
    """Returns the session that the line of ``session`` continues with.

    Now, or just before an operation of the log. None if a rewind led to before the first prompt and
    the agent does not name the new session beforehand.
    """
    log = moves(read_operations(context.store))
    line = line_of(log, session)
    took = history(log).took
    steps = [one for one in log if one.session in line and _leads_on(one)]
    end = None if before is None else before.sequence
    while True:
        earlier = [one for one in steps if end is None or one.sequence < end]
        last = earlier[-1] if earlier else None
        spoken = questions.last_spoken(
            ledger, line, after=-1 if last is None else last.sequence, before=end
        )
        if spoken is not None:
            return spoken
        if last is None:
            return SessionId(session)
        if last.kind not in (UNDO, REDO):
            return last.child
        if last.id not in took:  # the beginning of the log is lost
            return last.session
        end = took[last.id].sequence


def line_of(log: Sequence[Move], session: str) -> frozenset[str]:
    """Returns the sessions through which rewinds have led, including ``session``."""
    found = {session}
    links = [(one.session, one.child) for one in log if one.child is not None and _leads_on(one)]
    grown = True
    while grown:
        more = {end for link in links if found & {*link} for end in link} - found
        found |= more
        grown = bool(more)
    return frozenset(found)


def _leads_on(operation: Move) -> bool:
    """A fork that leaves the files alone is beside the conversation and does not move it."""
    return operation.moves_conversation and operation.can_be_undone


# -- facts: what the ledger knows that a plan has to take into account
#
# Who is working in the workspace now, whose files would be overwritten, what the person changed by
# hand, which ignored files a turn changed.


def facts(
    context: Context,
    ledger: Ledger,
    target: Checkpoint,
    *,
    inside: RunningTurn | None = None,
    is_over: Callable[[Checkpoint], bool],
    left: Iterable[LeftRunning] = (),
) -> Facts:
    """Reads what a plan for ``target`` must know.

    ``inside`` is the turn that this was called from. ``is_over`` tells from a session's newest
    checkpoint whether its turn ended unannounced. ``left`` is what turns left running.
    """
    family = _family(ledger, target.session)
    here = lineage_of(context.store, ledger)
    changes = questions.changed_since(ledger, target.id, here)
    after = ledger.after(target, everywhere=True)
    later = [one for one in after if one.session in family and here.holds(one)]
    return Facts(
        last_seen=last_seen(ledger, context.store.machine),
        at_work=frozenset(
            turn.session for turn in questions.open_turns(ledger, context.store.machine)
        ),
        running=running_turns(context, ledger, is_over, left),
        inside=inside,
        others=_others(changes, target, family),
        own=frozenset(change.path for change in changes if change.who == OUTSIDE),
        turns=_turns(questions.turns_since(ledger, target.id, here), changes),
        ignored=_ignored(context, target, later, family),
        beyond=beyond(context.workspace, later),
        family=family,
        current=current_session(context, ledger, target.session),
    )


def until_now(context: Context, captured: Captured, known: Facts) -> Facts:
    """Adds what changed since the last look, as the next checkpoint would have it.

    It is the person's if no agent is at work, and another session's if only that one is.
    """
    if known.last_seen is None:
        return known
    seen = bytes.fromhex(known.last_seen)
    found = trees.diff(context.store, seen, captured.tree, on_damage=lambda path, error: None)
    changed = frozenset(change.path for change in found)
    if not known.at_work:
        return known.replace(own=known.own | changed)
    others = known.at_work - known.family
    by_hand = WORKSPACE_SESSION in known.family and not known.others  # the only worker is meant
    if len(known.at_work) == len(others) == 1 and not by_hand:
        (session,) = others
        return known.replace(others={**dict.fromkeys(changed, session), **known.others})
    return known


def last_seen(ledger: Ledger, machine: str | None) -> SnapshotId | None:
    """Returns the newest state that takeback knows: that of a checkpoint or after an operation."""
    from takeback.model.ids import SnapshotId

    last = ledger.last_point(machine, undo=False) or ledger.last_point(undo=False)
    return None if last is None else SnapshotId(last.snapshot)


def _others(
    changes: Iterable[OwnedChange], target: Checkpoint, mine: frozenset[str]
) -> dict[bytes, str]:
    """Returns the paths that sessions other than the target's line changed since the target.

    Going to a checkpoint made by hand takes back whatever happened since; only if more than one
    session has worked since is it unclear whose work is meant.
    """
    changed: dict[bytes, set[str]] = {}
    for change in changes:
        if change.session is not None:
            changed.setdefault(change.path, set()).add(change.session)
    if target.session == WORKSPACE_SESSION:
        workers = set().union(*changed.values()) if changed else set()
        if len(workers) <= 1:
            return {}
    return {
        path: ", ".join(sorted(sessions - mine))
        for path, sessions in changed.items()
        if sessions - mine
    }


def _turns(
    turns: Iterable[Turn], changes: Iterable[OwnedChange]
) -> tuple[tuple[Turn, frozenset[bytes]], ...]:
    paths: dict[str, set[bytes]] = {}
    for change in changes:
        if change.turn is not None:
            paths.setdefault(change.turn, set()).add(change.path)
    return tuple((turn, frozenset(paths.get(turn.id, ()))) for turn in turns)


def lineage_of(store: Store, ledger: Ledger) -> Lineage:
    """Returns what in the ledger happened to the files here."""
    known = read_location(store.directory)
    made_by = known.machine if known is not None else ""
    return lineage(ledger, store.machine or "", is_copy=made_by != store.machine)


def _family(ledger: Ledger, session: str) -> frozenset[str]:
    """Returns a session with its ancestors and all its descendants."""
    family: set[str] = set(questions.line(ledger, session))
    everyone = questions.sessions(ledger)
    grown = True
    below = {session}
    while grown:
        more = {s.id for s in everyone if s.parent in below} - below
        below |= more
        grown = bool(more)
    return frozenset(family | below)


def _ignored(
    context: Context, target: Checkpoint, later: Iterable[Checkpoint], family: frozenset[str]
) -> tuple[bytes, ...]:
    """Returns the ignored files whose bytes changed within a turn that would be taken back."""
    found = set(saved_since(context.store, target, family).inside)
    previous = target
    for checkpoint in later:
        if checkpoint.expired is not None:  # whose doing it was is not known any more
            continue
        within = checkpoint.turn is not None and checkpoint.kind != UNDO
        begun = checkpoint.kind == PROMPT and not checkpoint.unfinished
        if within and not begun and previous.saved != checkpoint.saved:
            found |= _differing(context, previous.saved, checkpoint.saved)
        previous = checkpoint
    return tuple(sorted(found))


def _differing(context: Context, old: str | None, new: str | None) -> set[bytes]:
    a = bytes.fromhex(old) if old else b""
    b = bytes.fromhex(new) if new else b""
    try:
        return {change.path for change in trees.diff(context.store, a, b)}
    except StoreDamaged:
        return set()
