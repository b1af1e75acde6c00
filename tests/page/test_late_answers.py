"""A slow server or browser: what is late, missed or overtaken leaves the page right."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from takeback.app.engine import Engine
from tests.page.stage import Stage, living_in

_BRIEFLY = 2.0
_ESCAPE = """() => {
  const key = new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(key);
  return document.querySelectorAll("dialog[open]").length;
}"""


def note(shop: Stage, label: str) -> None:
    """Makes a checkpoint of that name, as a person does at a terminal."""
    with living_in(shop.environ), Engine.open(shop.root) as tb:
        tb.checkpoint(label)


def is_shown(page: Page, words: str) -> None:
    expect(page.locator("#timeline .row", has_text=words)).to_have_count(1)


def briefly(page: Page, holds: Callable[[], bool]) -> None:
    """Waits for something that may happen and need not."""
    deadline = time.monotonic() + _BRIEFLY
    while not holds() and time.monotonic() < deadline:
        page.wait_for_timeout(20)


class Held:
    """Answers to questions of one kind: the first is old when it comes, the others are not late."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._pattern = page, pattern
        self._first: tuple[Route, APIResponse] | None = None
        self.asked = 0
        page.route(pattern, self._answer)

    def _answer(self, route: Route) -> None:
        self.asked += 1
        if self.asked == 1:
            self._first = route, route.fetch()
        else:
            route.continue_()

    def comes(self) -> None:
        deadline = time.monotonic() + 60
        while self._first is None:
            assert time.monotonic() < deadline, f"nobody asked for {self._pattern}"
            self._page.wait_for_timeout(20)

    def release(self) -> None:
        assert self._first is not None
        route, answer = self._first
        with self._page.expect_response(self._pattern):
            route.fulfill(response=answer)


def test_what_happens_before_the_events_are_followed_is_seen(shop: Stage) -> None:
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        told: list[str] = []

        def between(route: Route) -> None:
            if not told:
                told.append(route.request.url)
                note(shop, "in the gap")
            route.continue_()

        page.route("**/events", between)
        page.reload()
        is_shown(page, "in the gap")
        assert told


@pytest.mark.parametrize("when", ["at first", "later"])
def test_an_answer_that_was_overtaken_is_not_the_last_word(shop: Stage, when: str) -> None:
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        held = Held(page, "**/turns?*")
        if when == "at first":
            page.reload()
        else:
            note(shop, f"one {when}")
        held.comes()
        note(shop, f"two {when}")
        briefly(page, lambda: held.asked > 1)
        held.release()
        is_shown(page, f"two {when}")


def test_enter_waits_for_what_is_being_searched(shop: Stage) -> None:
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        page.keyboard.press("/")
        page.keyboard.type("cart faster")
        page.keyboard.press("Enter")
        expect(page.locator("#timeline .row.chosen")).to_contain_text("make the total")
        expect(page.locator("#timeline")).to_be_focused()


def test_what_was_found_in_another_workspace_is_not_shown(shop: Stage, tmp_path: Path) -> None:
    other = tmp_path / "the-garden"
    other.mkdir()
    with living_in(shop.environ), Engine.open(other) as tb:
        tb.checkpoint("roses")
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        held = Held(page, "**/search?*")
        page.keyboard.press("/")
        page.keyboard.type("cart")
        held.comes()
        page.locator(".workspace", has_text="the-garden").click()
        is_shown(page, "roses")
        held.release()
        expect(page.locator("#where")).to_have_text("the-garden")
        is_shown(page, "roses")


def test_a_conversation_that_is_still_read_is_not_said_to_be_missing(shop: Stage) -> None:
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        held = Held(page, "**/messages?*")
        page.reload()
        held.comes()
        is_shown(page, "use plain words")
        expect(page.locator("#transcript .empty")).to_have_count(0)
        held.release()
        expect(page.locator(".message.user.chosen")).to_contain_text("use plain words")


def test_escape_closes_a_dialog_at_the_key(shop: Stage) -> None:
    """A browser closes it a while after; keys that follow at once would be lost."""
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        page.keyboard.press("?")
        expect(page.locator("dialog .keys").first).to_be_visible()
        assert page.evaluate(_ESCAPE) == 0
        page.keyboard.press("/")
        expect(page.locator("#search")).to_be_focused()


def test_the_keys_of_the_page_rest_while_a_dialog_is_open(shop: Stage) -> None:
    """Also where nothing in it has the focus: while it waits for an answer."""
    with shop.opened() as (page, _):
        is_shown(page, "use plain words")
        page.keyboard.press("?")
        expect(page.locator("dialog .keys").first).to_be_visible()
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("d")
        page.keyboard.press("s")
        expect(page.locator("dialog")).to_have_count(1)
        expect(page.locator("#changes")).to_be_hidden()
        assert page.evaluate(_ESCAPE) == 0
