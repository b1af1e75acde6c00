"""The command line: a thin face over ``takeback.app``."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def command_line() -> NoReturn:
    """Runs the command line with the words of this process and ends it."""
    if sys.platform == "win32":
        # Before any import of ours: the core needs POSIX modules that Windows does not have.
        sys.stderr.write("Error: takeback does not run on native Windows; use it inside WSL.\n")
        sys.exit(1)
    words = sys.argv[1:]
    from takeback.cli.plain_words import answered

    status = answered(words, os.environ)
    if status is None:
        from takeback.cli.main import run

        status = run(words)
    sys.exit(status)
