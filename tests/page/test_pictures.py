"""The pictures of the page in docs/pictures: made here, with ``TAKEBACK_PICTURES=write``.

What a browser draws depends on its version and on the fonts of the machine, so they are not
compared by pixels: the test shows that they can be made, and that none is of another shape.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.page.stage import Stage

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
_MAKE = os.environ.get("TAKEBACK_PICTURES") == "write"  # read before a test is sealed
_LARGEST = 150_000


def size_of(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", picture[16:24])
    return int(width), int(height)


def assert_picture(page: Page, name: str) -> None:
    # Where the tests happen to run says nothing about the page.
    page.evaluate("document.querySelector('.workspace-path').textContent = '/home/dev'")
    made = page.screenshot()
    if _MAKE:
        (PICTURES / name).write_bytes(made)
    kept = (PICTURES / name).read_bytes()
    assert size_of(kept) == size_of(made)
    assert len(kept) < _LARGEST


def test_the_conversation_with_its_control(shop: Stage) -> None:
    with shop.opened(color_scheme="light", viewport={"width": 1200, "height": 720}) as (page, _):
        message = page.locator(".message.user", has_text="fix the login bug")
        page.locator(".row", has_text="fix the login bug").click()
        message.hover()
        message.locator(".take-back").click()
        expect(page.locator("[role=menu]")).to_be_visible()
        assert_picture(page, "page.png")


def test_the_plan_above_the_changes(shop: Stage) -> None:
    with shop.opened(color_scheme="dark", viewport={"width": 1200, "height": 720}) as (page, _):
        page.locator(".row", has_text="fix the login bug").click()
        page.keyboard.press("d")
        page.keyboard.press("o")
        expect(page.locator(".hunk").first).to_be_visible()
        page.keyboard.press("b")
        expect(page.locator("dialog .paths").first).to_be_visible()
        assert_picture(page, "page-plan.png")
