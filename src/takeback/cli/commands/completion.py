"""takeback completion, and the words that it completes."""

from __future__ import annotations

import os
import shlex

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from takeback.cli.call import COMPLETE, Call
from takeback.cli.main import takeback
from takeback.cli.options import AFTER_DASHES, verb
from takeback.model.address import label_words
from takeback.model.naming import NEWEST
from takeback.words.outcomes import short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from takeback.app.engine import Engine
    from takeback.model.checkpoint import Checkpoint

    Items = list[CompletionItem[str]]
    Completer = Callable[[click.Context, click.Parameter, str], Items]

# -- completion: labels, turns, sessions, settings, agents and the paths of a checkpoint
#
# A shell asks while a person types, so it has to be quick and silent: if anything goes wrong,
# nothing is offered. A name that a shell would have to quote is not offered either: a model may
# have chosen it, and what is completed is run next.


_TURNS = 50
_PLACES = 200


def complete(cli: click.Command, call: object, variable: str, instruction: str) -> int:
    """Answers a shell; says nothing if anything goes wrong."""
    from click.shell_completion import shell_complete

    completion_class("bash")
    try:
        return shell_complete(cli, {"obj": call}, "takeback", variable, instruction)
    except Exception:
        return 1


def completion_class(shell: str) -> type[ShellComplete]:
    """Returns the class that answers a shell; bash's is our own."""
    add_completion_class(_Bash)
    found = get_completion_class(shell)
    assert found is not None
    return found


class _Bash(BashComplete):
    """Bash breaks words at a colon, as in ``turn:3``: the line itself is read instead."""

    source_template = BashComplete.source_template.replace(
        'COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD',
        'COMP_TYPED="${COMP_LINE:0:COMP_POINT}"',
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        typed = os.environ["COMP_TYPED"]
        words = split_arg_string(typed)
        incomplete = "" if typed[-1:].isspace() else words.pop() if words else ""
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        _, incomplete = self.get_completion_args()
        known = incomplete.rpartition(":")[0]
        value = item.value.removeprefix(f"{known}:") if known else item.value
        return f"{item.type},{value}"


def checkpoints(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers labels, turns and the newest checkpoint; after ``SESSION/`` those of a session."""
    if context.meta.get(AFTER_DASHES):
        return paths(context, parameter, incomplete)
    session, slash, _ = incomplete.rpartition("/")
    meant = session if slash else context.params.get("session")
    return _offered(
        context, incomplete, lambda tb: _places(tb, meant, f"{session}/" if slash else "")
    )


def _places(tb: Engine, session: str | None, before: str) -> Iterator[tuple[str, str]]:
    yield f"{before}@", "the newest"
    one = tb.session_meant(session)
    for entry in tb.checkpoints(session=one, limit=_PLACES):
        checkpoint, turn = entry.checkpoint, entry.turn
        about = short(checkpoint.prompt or checkpoint.kind)
        if checkpoint.label is not None:
            yield f"{before}{checkpoint.label}", _about_label(checkpoint)
        if turn is not None and turn.number is not None:
            yield f"{before}turn:{turn.number}", about
    if session is None:  # a label means the same everywhere
        for entry in tb.checkpoints(limit=_PLACES):
            if entry.checkpoint.label is not None:
                yield entry.checkpoint.label, _about_label(entry.checkpoint)


def _about_label(checkpoint: Checkpoint) -> str:
    said = short(checkpoint.prompt or checkpoint.kind)
    return said if checkpoint.label_by is None else f"{label_words(checkpoint)}  {said}"


def sessions(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the sessions, and the agents, whose name means their current session."""

    def found(tb: Engine) -> Iterator[tuple[str, str]]:
        for entry in tb.sessions():
            prompt = entry.newest.prompt if entry.newest is not None else None
            yield entry.session.agent or "", "its current session"
            yield entry.session.id, short(prompt or "")

    return _offered(context, incomplete, found)


def operations(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the operations of the log, the newest first."""
    return _offered(
        context,
        incomplete,
        lambda tb: (
            (one.operation.id, f"{one.operation.kind} {one.about}")
            for one in reversed(tb.operation_log())
        ),
    )


def paths(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the paths that the checkpoint holds, one directory at a time."""
    folder = incomplete.rpartition("/")[0]
    before = f"{folder}/" if "/" in incomplete else ""
    params = context.params
    name = params.get("checkpoint") or params.get("old") or NEWEST

    def found(tb: Engine) -> Iterator[tuple[str, str]]:
        target = tb.find(name, session=params.get("session"))
        for inner, is_directory in tb.names_in(target, folder or "."):
            yield f"{before}{inner}{'/' if is_directory else ''}", ""

    return _offered(context, incomplete, found)


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Leaves it to the shell: the words of another command, mostly files."""
    return [CompletionItem(incomplete, type="file")]


def settings(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the names of the settings."""
    from takeback.config import SETTINGS

    return _items([(setting.name, setting.about) for setting in SETTINGS], incomplete)


def workspaces(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the directories for which something is kept, or those of which it can come back."""
    from takeback.app.engine import Engine
    from takeback.gate import asker

    asking = asker.who(os.environ)
    if context.params.get("restore"):
        roots = [one.root for one in Engine.forgotten()] if asking.is_person else []
    else:
        roots = [one.root for one in Engine.workspaces() if asking.works_in(one.store)]
    return _items([(os.fsdecode(root), "") for root in roots], incomplete)


def values(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the values of a setting that allows only some."""
    from takeback.config import setting_named

    kind = setting_named(str(context.params.get("key"))).kind
    return _items([(value, "") for value in kind.split("|") if "|" in kind], incomplete)


def agents(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Offers the agents that can be connected."""
    from takeback.app.connect import connections

    given = context.params.get(parameter.name or "") or ()
    offered = [(one.name, one.title) for one in connections() if one.name not in given]
    return _items(offered, incomplete)


def _offered(
    context: click.Context,
    incomplete: str,
    found: Callable[[Engine], Iterator[tuple[str, str]]],
) -> Items:
    """Asks the workspace that the call is about; never creates a store."""
    from takeback.app.engine import Engine

    call = context.find_root().obj
    call.enter_directory()
    with Engine.open(".", create=False, holder="completion", bounded=True) as tb:
        return _items(list(found(tb)), incomplete)


def _items(offered: Sequence[tuple[str, str]], incomplete: str) -> Items:
    fitting = {
        value: about
        for value, about in reversed(offered)
        if value and value.startswith(incomplete) and shlex.quote(value) == value
    }
    return [CompletionItem(value, help=fitting[value] or None) for value in reversed(fitting)]


# -- takeback completion


@verb("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(call: Call, shell: str) -> int:
    """Print the completion script of a shell.

    For bash, in ~/.bashrc:  eval "$(takeback completion bash)"

    It knows commands and options, labels, turns, sessions, settings, agents, and the paths that
    a checkpoint holds.
    """

    found = completion_class(shell)
    script = found(takeback, {}, "takeback", COMPLETE).source()
    call.output.document("completion", {"shell": shell, "script": script})
    call.output.line(script)
    return 0
