"""What a person sees who only looks: the page opens, follows what happens, and finds things."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from takeback.app.engine import Engine
from takeback.words.text import size
from tests.page.stage import Stage, leave, living_in
from tests.page.world import running
from tests.tui.world import change

TURNS = 10_000
TOLD = (
    "use plain words",
    "try it with sessions",
    "fix the login bug",
    "make the buttons larger",
    "make the total of the cart",
    "add a page",
    "before the agents",
)
"""The day in the shop, newest first; what other tests add stands among it."""


def test_sizes_are_those_of_the_terminal(shop: Stage) -> None:
    numbers = [0, 1, 1023, 1024, 1280, 1792, 167_936, 1_048_575, 1 << 20, 52_428_800, 999 << 20]
    numbers += [number << 10 for number in numbers] + [number << 30 for number in numbers]
    with shop.opened() as (page, _):
        shown = page.evaluate(
            """async (numbers) => {
                const { bytes } = await import("/static/words.js");
                return numbers.map(bytes);
            }""",
            numbers,
        )
    assert shown == [size(number) for number in numbers]


def test_it_opens_with_the_newest_turn_and_its_conversation(shop: Stage) -> None:
    with shop.opened() as (page, _):
        rows = page.locator("#timeline .row")
        expect(rows.filter(has_text=TOLD[-1])).to_have_count(1)
        titles = rows.locator(".title").all_text_contents()
        assert [one for one in titles if one.startswith(TOLD)] == [
            next(one for one in titles if one.startswith(told)) for told in TOLD
        ]
        newest = rows.filter(has=page.locator(".title:not(.quiet)")).first
        expect(newest).to_have_attribute("aria-selected", "true")
        prompt = newest.locator(".title").text_content()
        assert prompt
        expect(page.locator(".message.user.chosen")).to_contain_text(prompt)
        expect(page.locator("#where")).to_have_text("the-shop")
        forked, parent = (
            rows.filter(has_text=words).locator(".dot") for words in (TOLD[1], TOLD[2])
        )
        assert forked.get_attribute("class") != parent.get_attribute("class"), "another lane"
        page.locator(".row", has_text="add a page").click()
        expect(page.locator(".message.user.chosen")).to_be_in_viewport()


def test_a_turn_arrives_while_the_page_is_open(shop: Stage) -> None:
    with shop.opened() as (page, _):
        expect(page.locator("#timeline .row", has_text="use plain words")).to_have_count(1)
        with living_in(shop.environ):
            with running(shop.root):
                busy = page.locator(".row", has_text="add a dark theme")
                expect(busy).to_contain_text("running")
                change(shop.root, {"dark.css": b"body { background: black; }\n"})
            expect(busy).to_contain_text("1 file")
            expect(busy).not_to_contain_text("running")
            change(shop.root, {"dark.css": None})
            with Engine.open(shop.root) as tb:
                tb.checkpoint("tidy")
        expect(page.locator(".row", has_text="tidy")).to_be_visible()


def test_prompts_and_paths_are_searched_as_one_types(shop: Stage) -> None:
    with shop.opened() as (page, _):
        expect(page.locator("#timeline .row").first).to_be_visible()
        page.keyboard.press("/")
        page.keyboard.type("cart")
        expect(page.locator("#timeline .row code.title").first).to_contain_text("cart")
        page.locator("#search").fill("cart faster")
        expect(page.locator("#timeline .row")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page.locator(".message.user.chosen")).to_contain_text("make the total")
        page.locator("#search").fill("no such words")
        expect(page.locator("#timeline .empty")).to_contain_text("Nothing found")
        page.keyboard.press("Escape")
        expect(page.locator("#timeline .row", has_text=TOLD[-1])).to_have_count(1)


def test_labels_and_keys(shop: Stage) -> None:
    with shop.opened() as (page, _):
        page.locator(".row", has_text="add a page").click()
        page.keyboard.press("l")
        page.keyboard.type("first page")
        leave(page, "Enter")
        expect(page.locator(".row", has_text="add a page")).to_contain_text("first page")
        page.keyboard.press("k")
        expect(page.locator(".row.chosen")).to_contain_text("make the total")
        page.keyboard.press("?")
        expect(page.locator("dialog .keys dt").first).to_have_text("j")
        leave(page)
        page.keyboard.press("s")
        expect(page.locator("dialog")).to_contain_text("files of the workspace are held")


def test_of_ten_thousand_turns_only_what_is_seen_is_drawn(shop: Stage) -> None:
    """The pages of turns come from here: it is the page that is long, not the store."""
    with shop.opened() as (page, _):
        expect(page.locator("#timeline .row").first).to_be_visible()
        model: dict[str, Any] = {}
        page.route("**/turns?*", lambda route: _turns(route, model))
        page.reload()
        expect(page.locator(".row", has_text="turn number 10000")).to_be_visible()
        for _ in range(120):
            page.evaluate("document.getElementById('timeline').scrollTop = 1e9")
            page.wait_for_timeout(40)
            if page.locator(".row", has_text="turn number 1,").count():
                break
        expect(page.locator(".row", has_text="turn number 1,")).to_be_visible()
        assert _rows(page) < 60
        height = page.evaluate("document.querySelector('.window-space').offsetHeight")
        assert height == TURNS * 56


def _rows(page: Page) -> int:
    return page.locator("#timeline .row").count()


def _turns(route: Route, model: dict[str, Any]) -> None:
    """Answers with a page of very many turns, each like a real one."""
    asked = route.request.url
    if not model:
        model.update(route.fetch().json()["turns"][0])
    before = int(asked.split("before=t")[1].split("&")[0]) if "before=" in asked else TURNS + 1
    limit = int(asked.split("limit=")[1].split("&")[0])
    numbers = range(before - 1, max(0, before - 1 - limit), -1)
    turns = [{**model, "id": f"t{one}", "prompt": f"turn number {one}, again"} for one in numbers]
    last = numbers[-1]
    answer = {"turns": turns, "next": f"t{last}" if last > 1 else None}
    route.fulfill(body=json.dumps(answer), content_type="application/json")


def test_a_long_conversation_is_read_where_one_looks(shop: Stage) -> None:
    """Messages of very different heights: what is looked at stays where it is."""
    with shop.opened() as (page, seen):
        expect(page.locator(".message.user.chosen")).to_be_visible()
        page.route("**/messages?*", _messages)
        page.reload()
        turn = page.locator(".message", has_text="message number 39000,")
        expect(turn).to_be_in_viewport()
        page.evaluate("document.getElementById('transcript').scrollTop /= 2")
        middle = page.locator(".message", has_text=re.compile(r"message number [12]\d{4},"))
        expect(middle.nth(2)).to_be_visible()
        expect(page.locator(".message.waiting")).to_have_count(0)
        assert page.locator(".message").count() < 80
        assert len([one for one in seen.requests if "/messages?" in one.url]) < 20
        inside = page.locator(".message[data-index]").nth(3)
        number = inside.get_attribute("data-index")
        top = inside.bounding_box()
        page.wait_for_timeout(200)
        assert page.locator(f'.message[data-index="{number}"]').bounding_box() == top


def _messages(route: Route) -> None:
    asked = route.request.url
    if "offset=" not in asked:  # where a turn stands in it
        return route.fulfill(json={"messages": [], "total": 39_000, "next": None})
    first = int(asked.split("offset=")[1].split("&")[0])
    messages = [
        {
            "number": one,
            "role": "user" if one % 4 == 0 else "assistant",
            "text": f"message number {one}, and more of it\n\n" * (1 + one % 7),
            "time": None,
            "tool": None,
            "checkpoint": None,
            "turn": None,
        }
        for one in range(first, min(first + 100, 40_000))
    ]
    return route.fulfill(json={"messages": messages, "total": 40_000, "next": first + 100})
