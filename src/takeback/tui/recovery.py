"""When something goes wrong in the picker: reports it, and recovers what was interrupted."""

from __future__ import annotations

from takeback.app.border import bug
from takeback.errors import TakebackError
from takeback.tui.progress_screen import Progress
from takeback.tui.trouble import SaidScreen, TroubleScreen, trouble
from takeback.words import choices as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    from takeback.app.workspace_thread import WorkspaceThread
    from takeback.tui.picker import PickerApp

    T = TypeVar("T")


class Recovery:
    """Reports errors and offers to finish or roll back an interrupted operation."""

    def __init__(self, app: PickerApp, workspace: WorkspaceThread) -> None:
        self._app = app
        self._workspace = workspace
        self._progress = Progress(app, workspace)

    async def guarded(self, flow: Coroutine[Any, Any, T]) -> T | None:
        """Turns any failure of a flow into words; the picker goes on."""
        try:
            return await flow
        except Exception as error:  # noqa: BLE001 - a bug must not take the terminal down
            await self._tell(_told(error))
            return None

    async def is_whole(self) -> bool:
        """Recovers what was interrupted, if the person agrees; a plan needs whole files."""
        if not await self._workspace.ask(lambda tb: tb.interrupted):
            return True
        asking = TroubleScreen([words.INTERRUPTED], interrupted=True)
        if not await self._app.push_screen_wait(asking):
            return False
        await self.recover()
        return True

    async def recover(self) -> None:
        """Finishes or rolls back what was interrupted, and says what was done."""
        done = await self._progress.during(
            words.RECOVERING,
            lambda tb: tb.recover(),
            changes=True,
            noted=lambda done: self._app.note_done(words.recovered(done)),
        )
        await self._app.push_screen_wait(SaidScreen(words.recovered(done)))

    async def _tell(self, error: TakebackError) -> None:
        while True:
            screen = trouble(error, interrupted=await self._is_interrupted())
            if not await self._app.push_screen_wait(screen):
                return
            try:
                await self.recover()
                return
            except Exception as again:  # noqa: BLE001 - as above
                error = _told(again)

    async def _is_interrupted(self) -> bool:
        try:
            return await self._workspace.ask(lambda tb: tb.interrupted)
        except Exception:  # noqa: BLE001 - then the error itself says everything that is known
            return False


def _told(error: Exception) -> TakebackError:
    return error if isinstance(error, TakebackError) else bug(error)
