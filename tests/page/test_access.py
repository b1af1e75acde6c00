"""Who has no mouse, no eyes for small contrasts, or a small screen can use the page, too."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.stage import Stage, leave

FIRST_LOAD = 150_000
"""Bytes of the page itself, without what it shows."""


_EXAMINE = """async () => {
  const only = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
  // A menu that pops up stands outside of the landmarks.
  const done = await axe.run(document, {runOnly: only, rules: {region: {enabled: false}}});
  return done.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`));
}"""


def violations(page: Page, axe: str) -> Any:
    page.evaluate(axe)
    return page.evaluate(_EXAMINE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible_and_has_contrast(shop: Stage, axe: str, scheme: str) -> None:
    with shop.opened(color_scheme=scheme) as (page, _):
        expect(page.locator(".message.user.chosen")).to_be_visible()
        page.locator(".message.user").last.focus()
        assert violations(page, axe) == [], "the conversation"
        page.keyboard.press("t")
        expect(page.locator("[role=menuitem]").first).to_be_focused()
        assert violations(page, axe) == [], "the menu"
        page.keyboard.press("f")
        expect(page.locator("dialog .paths").first).to_be_visible()
        assert violations(page, axe) == [], "the plan"
        leave(page)
        page.keyboard.press("d")
        page.keyboard.press("o")
        expect(page.locator(".hunk").first).to_be_visible()
        assert violations(page, axe) == [], "the changes"
        page.keyboard.press("?")
        expect(page.locator("dialog .keys").first).to_be_visible()
        assert violations(page, axe) == [], "the keys"
        leave(page)
        page.keyboard.press("s")
        expect(page.locator("dialog .overview").first).to_be_visible()
        assert violations(page, axe) == [], "coverage and disk use"
        leave(page)
        page.keyboard.press("p")
        page.locator("#prune-what").select_option(index=1)
        expect(page.locator("dialog")).to_contain_text("come free")
        assert violations(page, axe) == [], "making room"


def test_tab_goes_through_the_page_in_the_order_of_reading(shop: Stage) -> None:
    with shop.opened() as (page, _):
        expect(page.locator(".message.user.chosen")).to_be_visible()
        met = []
        for _ in range(12):
            page.keyboard.press("Tab")
            met.append(
                page.evaluate("""() => {
              const one = document.activeElement;
              return one.id || one.dataset.pane || one.className.split(' ')[0] || one.tagName;
            }""")
            )
        assert met[:11] == [
            "skip",
            "search",
            "overview",
            "theme",
            "help",
            "workspace",
            "session",
            "timeline",
            "tab-conversation",
            "tab-changes",
            "transcript",
        ]
        assert met[11] in ("message", "take-back", "tool-line", "link")


def test_the_first_load_is_small_and_all_of_it_ours(shop: Stage) -> None:
    with shop.opened() as (page, seen):
        expect(page.locator(".message.user.chosen")).to_be_visible()
        own = [one for one in seen.requests if "/api/" not in one.url]
        size = sum(one.sizes()["responseBodySize"] for one in own)
        asked = len(seen.requests) - len(own)
        print(f"first load: {len(own)} files, {size:,} bytes; {asked} questions")  # noqa: T201
        assert size < FIRST_LOAD
        assert len(own) < 50
        assert asked < 12
        assert {one.url.split("?")[0].split("#")[0] for one in own if "static" not in one.url} == {
            shop.server.url
        }


def test_four_hundred_pixels_are_enough(shop: Stage) -> None:
    with shop.opened(viewport={"width": 400, "height": 800}, has_touch=True) as (page, _):
        expect(page.locator(".row").first).to_be_visible()
        expect(page.locator("#transcript")).not_to_be_visible()
        page.locator(".row", has_text="fix the login bug").click()
        expect(page.locator(".message.user.chosen")).to_be_visible()
        chosen = "document.querySelector('.message.user.chosen')"
        page.wait_for_function(f"() => {chosen}.getBoundingClientRect().y < 300")  # it is seen
        page.locator(".message.user.chosen .take-back").click()
        page.locator("[role=menuitem]", has_text="Files and conversation").click()
        box = page.locator("dialog").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
        expect(page.locator("dialog .primary")).to_be_in_viewport()
        leave(page)
        page.locator("#tab-changes").click()
        expect(page.locator(".hunk").first).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 400, "nothing makes the page itself scroll sideways"


def test_dark_is_a_key_and_stays(shop: Stage) -> None:
    with shop.opened(color_scheme="light") as (page, _):
        expect(page.locator(".row").first).to_be_visible()
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.keyboard.press("T")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark != light
        page.reload()
        expect(page.locator(".row").first).to_be_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
