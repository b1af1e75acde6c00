"""Usage errors in takeback's own words: what was typed, and what could have been meant."""

from __future__ import annotations

from difflib import get_close_matches

import click

from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def worded(error: click.UsageError, verb: str) -> UsageError:
    """Returns click's error as one of ours; ``verb`` is the command that was typed, if any."""
    where = error.ctx.command_path if error.ctx is not None else f"takeback {verb}".strip()
    how = f"how it is called: {where} --help"
    if isinstance(error, click.NoSuchOption):
        near = get_close_matches(error.option_name, _options(error.ctx), n=1, cutoff=0.75)
        hint = f"did you mean: {near[0]}; {how}" if near else how
        return UsageError(f"there is no option {error.option_name}", hint=hint)
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = error.param.make_metavar(error.ctx or click.get_current_context())
        if isinstance(error.param, click.Option):
            name = max(error.param.opts, key=len)
        choices = error.param.type
        if isinstance(choices, click.Choice):
            missing = isinstance(error, click.MissingParameter)
            about = "is missing" if missing else "has no such value"
            values = ", ".join(map(str, choices.choices))
            name = name if isinstance(error.param, click.Option) else str(error.param.name)
            return UsageError(f"{name} {about}", hint=f"one of: {values}; {how}")
    return UsageError(_sentence(error), hint=how)


def too_many(where: str, words: Sequence[str], *, takes_paths: bool, hint: str) -> UsageError:
    """Says that a command was given more than it takes."""
    more = " ".join(words)
    if takes_paths:
        hint = f"paths stand after --: {where} ... -- {more}"
    return UsageError(f"{more!r} is more than {where} takes", hint=hint)


def _options(context: click.Context | None) -> list[str]:
    params = [] if context is None else context.command.params
    return [name for param in params if isinstance(param, click.Option) for name in param.opts]


def _sentence(error: click.ClickException) -> str:
    text = error.format_message().rstrip(".").replace("\n", " ").replace("\t", "")
    return text[:1].lower() + text[1:]
