"""The way in: ``python -m takeback`` and the command ``takeback``.

A hook does not go through the command line: its parser would cost more than the capture, and
its usage error is the exit status that stops an agent.
"""

import sys

from takeback.c_modules import environment, posix

_STDIO = "--stdio"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Runs this process's words and ends it."""
    sys.excepthook = _last_word
    words = sys.argv[1:]
    if not sys.flags.isolated:  # bin/takeback is; ``python -m takeback`` imports from where it is
        import os

        from takeback.programs import takeback

        os.execv(sys.executable, takeback(*words))
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        hook(words[1:])
    from takeback.cli import command_line

    command_line()


def _last_word(kind: "type[BaseException]", error: BaseException, trace: object) -> None:
    """Ends a process of which nothing has caught an exception: one line, and 70; a hook with 0."""
    if not isinstance(error, Exception):
        said = "Error: interrupted" if isinstance(error, KeyboardInterrupt) else f"Error: {error!r}"
        sys.stderr.write(f"{said}\n")
        return
    is_hook = sys.argv[1:2] == ["hook"]
    said = f"This is a bug in takeback: {kind.__name__}: {error}".replace("\n", " ")
    try:
        from takeback.app.border import bug
        from takeback.store.notes import complain

        told = bug(error)
        said = f"{told.message}\nHint: {told.hint}"
        if is_hook:
            complain(f"hook: {told.message}")
    except Exception:  # noqa: BLE001 - not even that can be loaded
        said += "\nHint: install takeback again"
    sys.stderr.write(f"Error: {said}\n")
    sys.stderr.flush()
    posix._exit(0 if is_hook else 70)


def hook(words: list[str]) -> "NoReturn":
    """What ``takeback hook`` does: takes an event, or talks with an extension until it is done."""
    if words[1:] == [_STDIO]:
        _talk(words[0])
    from takeback import handover
    from takeback.errors import UsageError
    from takeback.paths import home_named

    words = words or [""]
    try:
        status = _handed_over(home_named(_text(environment())), words)
    except UsageError:  # the event itself reports it
        status = None
    if status is None:
        from takeback.hook import main as hear

        status = hear(words, handover.began("self"))
    sys.exit(status)


def launched() -> "NoReturn":
    """What the launcher calls: its first word says where takeback is, the rest is the hook's."""
    words = sys.argv[2:]
    if words[1:] == [_STDIO]:
        _talk(words[0])
    home = environment()[b"TAKEBACK_HOME"].decode(errors="surrogateescape")
    status = _handed_over(home, words)
    if status is None:
        import gc

        from takeback import handover

        gc.disable()  # a hook's objects live until its end: saves 3 ms
        from takeback.hook import main as hear

        status = hear(words, handover.began("self"))
        from takeback import standby

        standby.start(f"{home}/bin")
    posix._exit(status)  # nothing is buffered, and tearing down the modules costs 4 ms


def _talk(agent: str) -> "NoReturn":
    from takeback.stdio import main as talk

    sys.exit(talk(agent))


def _handed_over(home: str, words: list[str]) -> int | None:
    """Returns the status with which the standby of a home says to end; None without a standby."""
    from takeback import handover

    try:
        return handover.hand_over(home, words)
    except handover.Lost as error:
        from takeback.store.notes import complain

        complain(f"hook {' '.join(words)}: {error}")
        return 0


def _text(environ: dict[bytes, bytes]) -> dict[str, str]:
    decoded = (
        (name.decode(errors="surrogateescape"), value.decode(errors="surrogateescape"))
        for name, value in environ.items()
    )
    return dict(decoded)


if __name__ == "__main__":
    main()
