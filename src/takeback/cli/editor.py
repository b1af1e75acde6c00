"""The editor: lets a person change a text. ``$VISUAL``, else ``$EDITOR``, else ``vi``.

It is a program with its arguments, not a shell command. One in a workspace is not run: an agent
could have put it there.
"""

from __future__ import annotations

import os

from takeback.errors import UsageError
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.engine import Engine


def edited(tb: Engine, text: bytes) -> bytes:
    """Returns a text as the person left it; raises UsageError if there was no editor for it."""
    from subprocess import run
    from tempfile import NamedTemporaryFile

    argv = _editor(tb)
    with NamedTemporaryFile(prefix="takeback-", suffix=".diff") as file:
        file.write(text)
        file.flush()
        try:
            status = run([*argv, file.name], env={**os.environ, "PATH": tb.trusted_path}).returncode
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise UsageError(f"{argv[0]} could not be started: {reason}") from None
        if status:
            raise UsageError(f"{argv[0]} ended with status {status}, so nothing was edited")
        # An editor may have put another file there.
        with open(file.name, "rb", opener=ordinary) as now:
            return now.read()


def _editor(tb: Engine) -> list[str]:
    from shlex import split

    line = next((os.environ[n] for n in ("VISUAL", "EDITOR") if os.environ.get(n)), "vi")
    try:
        words = split(line)
    except ValueError:  # a quotation mark without its end
        words = []
    found = tb.find_program(words[0]) if words else None
    if found is None or found.program is None:
        why = found.passed_over if found is not None and found.passed_over else f"{line!r}"
        raise UsageError(f"there is no editor to run: {why}", hint="name one in EDITOR")
    return [found.program, *words[1:]]
