"""A person makes room and takes it back, in a real browser: by keys, with the plan first."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page, expect

from takeback.app.engine import Engine
from tests.page.stage import Stage, leave, living_in

_LOOK = os.environ.get("TAKEBACK_LOOK")  # a directory for pictures, to be looked at by hand


def seen(page: Page, name: str) -> None:
    if _LOOK:
        page.screenshot(path=str(Path(_LOOK, f"{name}.png")))


def expired(shop: Stage) -> int:
    with living_in(shop.environ), Engine.open(shop.root) as tb:
        return tb.status().expired


def test_room_is_made_by_a_plan_and_given_back_by_the_trash(shop: Stage) -> None:
    with shop.opened(color_scheme="light") as (page, _):
        expect(page.locator("#timeline .row").first).to_be_visible()
        page.keyboard.press("s")
        page.locator("dialog button", has_text="Make room…").press("Enter")
        box = page.locator("dialog")
        expect(box.locator("h2")).to_have_text("Make room")
        expect(box).to_contain_text("Nothing to drop")
        expect(box).to_contain_text("The trash is empty. What is dropped waits here for 7 days.")
        seen(page, "room-empty-light")
        page.locator("#prune-what").select_option(index=1)
        expect(box).to_contain_text("come free")
        expect(box).to_contain_text("What stays")
        expect(page.locator("#prune-what")).to_be_focused()
        seen(page, "room-plan-light")
        assert expired(shop) == 0, "nothing happens before it is confirmed"
        for _ in range(6):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.className") == "primary":
                break
        expect(box.locator("button.primary")).to_be_focused()
        page.keyboard.press("Enter")
        expect(box.locator(".callout")).to_contain_text("They can be brought back for 7 days")
        number = expired(shop)
        assert number > 0
        back = box.get_by_role("button", name="Bring back")
        expect(back).to_have_count(1)
        seen(page, "room-trash-light")
        back.press("Enter")
        expect(box.locator(".callout")).to_contain_text("got their files back")
        expect(box).to_contain_text("The trash is empty")
        assert expired(shop) == 0
        leave(page)
    with shop.opened(color_scheme="dark", viewport={"width": 400, "height": 800}) as (page, _):
        expect(page.locator("#timeline .row").first).to_be_visible()
        page.keyboard.press("p")
        page.locator("#prune-what").select_option(index=1)
        expect(page.locator("dialog")).to_contain_text("come free")
        wide = page.evaluate("document.querySelector('dialog').scrollWidth")
        assert wide <= 400, "nothing has to be scrolled sideways"
        seen(page, "room-plan-dark-400")
