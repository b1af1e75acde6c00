"""What must hold before a rewind; each refusal has its reason and, usually, its own flag."""

from __future__ import annotations

import os

from takeback.model.checkpoint import AMID
from takeback.model.merge import CHOICES
from takeback.model.operation import changed_too
from takeback.model.path_text import to_text
from takeback.model.plan import (
    COLLIDING_NAMES,
    CONFLICTS,
    DISK_SPACE,
    DURING_GIT,
    DURING_TURN,
    INSIDE_TURN,
    MASS_DELETE,
    OTHER_BRANCH,
    OTHERS,
    Refusal,
)
from takeback.model.policy import KEEP_OTHERS, OVERWRITE_OTHERS
from takeback.ops import running
from takeback.ordinary import all_names
from takeback.visible import shown
from takeback.worktree import project
from takeback.worktree.staged import differ, staged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.model.change import Change
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.policy import Overrides
    from takeback.ops.capture import Captured
    from takeback.ops.context import Context
    from takeback.ops.facts import Facts
    from takeback.ops.prepare import Prepared
    from takeback.ops.request import Request
    from takeback.ops.running import RunningTurn

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
            *_others(changes, facts, overrides),
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


def _others(changes: Prepared, facts: Facts, overrides: Overrides) -> Iterator[Refusal]:
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
