"""The head of the detail: where a checkpoint is, the prompt, the tools, what was typed."""

from __future__ import annotations

from takeback.tui.detail.lines import Words
from takeback.words import changes as places
from takeback.words import changes as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.model.operation import Preview
    from takeback.timeline.timeline import Shown, TimelineEntry


class Heading(Words, can_focus=False):
    """As many lines as needed, up to a few; the parent scrolls to the rest.

    It takes no focus: Tab should lead from the timeline straight to the files.
    """

    def tell(
        self,
        entry: TimelineEntry | None,
        shown: Shown | None,
        preview: Preview | None,
        now: float,
    ) -> None:
        """Says what is known about an entry so far."""
        if entry is None:
            self.title("nothing chosen")
            self.say(())
            return
        known = entry if shown is None else shown.entry
        self.title(places.place_title(known))
        self.say(_said(known, shown, preview, now))


def _said(
    entry: TimelineEntry, shown: Shown | None, preview: Preview | None, now: float
) -> Iterator[tuple[str, str]]:
    checkpoint = entry.checkpoint
    sound = checkpoint.complete and not checkpoint.late
    yield places.place_line(entry, now), "faint" if sound else "warning"
    if preview is not None:
        for line in words.going_lines(preview):
            yield line, "plain"
    if checkpoint.prompt is not None:
        for line in places.prompt_lines(entry):
            yield line, "strong"
    if shown is not None:
        for line in places.used_lines(shown):
            yield line, "plain"
