"""Opens the picker, and when it has closed, runs the agent to continue with."""

from __future__ import annotations

import os
import sys
import time
from functools import partial

from takeback.errors import TakebackError
from takeback.tui.first_frame import FirstFrame, title_frame
from takeback.tui.palette import known_styles
from takeback.tui.splash import Splash
from takeback.tui.timeline.page import first_page
from takeback.words.text import quoted, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from takeback.app.engine import Engine
    from takeback.app.polled_reporter import PolledReporter
    from takeback.model.checkpoint import Resume
    from takeback.tui.picker import PickerApp
    from takeback.tui.timeline.page import Page


def open_picker(
    open_workspace: Callable[[], Engine],
    *,
    environ: Mapping[str, str],
    reporter: PolledReporter | None = None,
) -> int:
    """Shows the picker until it is closed; returns the exit status.

    The workspace is opened before the screen: what is wrong with it is said in the terminal, as by
    every other command. If the person continues with a session, this does not return.
    """
    workspace = open_workspace()
    where = _tilde(shown_path(workspace.root), environ)
    seen = workspace.at_a_glance(first_page)
    with Splash(_first_frame(seen, where, environ)) as splash:
        app = _show(workspace, reporter, where, splash, seen)
    if app.failure is not None:
        raise app.failure
    if app.resume_with is not None:
        _go_on(app.resume_with, environ)
    sys.stdout.writelines(f"{line}\n" for line in app.farewell())
    return app.return_code or 0


def _first_frame(
    seen: Page | None, where: str, environ: Mapping[str, str]
) -> Callable[[int, int], str]:
    """Returns what draws the screen until the library does: the rows, if they are known."""
    styles = known_styles(environ)
    if seen is None or styles is None or not seen.browsed.rows:
        return partial(title_frame, where)
    return FirstFrame(seen, where, styles, time.time())


def _show(
    workspace: Engine,
    reporter: PolledReporter | None,
    where: str,
    splash: Splash,
    seen: Page | None,
) -> PickerApp:
    """Runs the picker; the splash is shown until its library is imported."""
    # 250 ms, most of it Textual
    from takeback.app.workspace_thread import WorkspaceThread
    from takeback.tui.picker import PickerApp

    thread = WorkspaceThread(lambda: workspace, reporter)
    try:
        # Read while the screen is being prepared. During the imports it would only be in the way: a
        # thread waits 5 ms for its turn each time it has accessed the disk.
        first = thread.start(first_page)
        app = PickerApp(thread, where=where, first=first, seen=seen, put_back=splash.put_back)
        app.run()
    finally:
        thread.close()
    return app


def _tilde(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _go_on(resume: Resume, environ: Mapping[str, str]) -> None:
    """Becomes the agent, in its directory; raises TakebackError with the line to type instead."""
    try:
        os.chdir(resume.cwd)
        os.execvpe(resume.argv[0], list(resume.argv), dict(environ))
    except OSError as error:
        line = " ".join(quoted(word) for word in resume.argv)
        raise TakebackError(
            f"{resume.argv[0]} could not be started: {os.strerror(error.errno or 0)}",
            hint=f"go on with it by hand: cd {quoted(resume.cwd)} && {line}",
        ) from None
