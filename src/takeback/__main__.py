"""The way in: ``python -m takeback`` and the command ``takeback``.

A hook does not go through the command line: its parser would cost more than the capture, and
its usage error is the exit status that stops an agent.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Runs this process's words and ends it."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        if words[2:] == ["--stdio"]:
            from takeback.stdio import main as talk

            sys.exit(talk(words[1]))
        from takeback.hook import main as hear

        sys.exit(hear(words[1:]))
    from takeback.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
