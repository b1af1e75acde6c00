"""Switches the recording of agents' events in one workspace."""

from __future__ import annotations

from takeback.check.settings import edit_for_workspace, set_setting
from takeback.words.text import shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.cli.call import Call


def switch(call: Call, *, capture: str) -> int:
    """Writes the setting for this workspace and says what it means."""
    with call.open(capture, create=True, note=False) as tb:
        root = tb.root
        if not call.dry_run:
            set_setting(edit_for_workspace(tb.store_directory, "capture", capture))
    done = not call.dry_run
    call.output.document("capture", {"capture": capture, "done": done})
    words = "not recorded" if capture == "off" else "recorded"
    would = "" if done else " (nothing was changed: a dry run)"
    call.output.line(f"What agents do in {shown_path(root)} is {words} from now on{would}.")
    return 0
