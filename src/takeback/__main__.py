"""The way in: ``python -m takeback`` and the command ``takeback``.

A hook does not go through the command line: its parser would cost more than the capture, and
its usage error is the exit status that stops an agent.
"""

import sys

from takeback.c_modules import environment, posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Runs this process's words and ends it."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        hook(words[1:])
    from takeback.cli import command_line

    command_line()


def hook(words: list[str], *, by_launcher: bool = False) -> "NoReturn":
    """Takes one event of an agent, or talks with its extension until that is done."""
    if words[1:] == ["--stdio"]:
        from takeback.stdio import main as talk

        sys.exit(talk(words[0], by_launcher=by_launcher))
    from takeback.hook import main as hear

    sys.exit(hear(words, by_launcher=by_launcher))


def launched() -> "NoReturn":
    """What the launcher calls: its first word says where takeback is, the rest is the hook's."""
    words = sys.argv[2:]
    if words[1:]:
        hook(words, by_launcher=True)
    from takeback import handover

    place = environment()[b"TAKEBACK_HOME"].decode(errors="surrogateescape") + "/bin"
    try:
        status = handover.hand_over(place, words)
    except handover.Lost as error:
        from takeback.store.log import complain

        complain(f"hook {' '.join(words)}: {error}")
        status = 0
    if status is None:
        import gc

        gc.disable()  # a hook's objects live until its end: saves 3 ms
        from takeback.hook import main as hear

        status = hear(words, by_launcher=True)
        from takeback import standby

        standby.start(place)
    posix._exit(status)  # nothing is buffered, and tearing down the modules costs 4 ms


if __name__ == "__main__":
    main()
