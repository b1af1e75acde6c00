"""A person takes back, undoes, forks, reverts and ticks, in a real browser and with real files."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.page.stage import Stage, leave, living_in
from tests.page.world import running
from tests.support.summariser import set_summariser
from tests.tui.world import LOGIN, SIGNED

LOGIN_BUG = "fix the login bug"
WORDS = "use plain words"


def dialog(page: Page, title: str) -> None:
    expect(page.locator("dialog h2")).to_have_text(title)


def confirm(page: Page, words: str | re.Pattern[str]) -> None:
    """Agrees to the plan that is shown, and waits until it is done."""
    page.locator("dialog button.primary", has_text=words).click()
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("#outcome")).to_be_visible()


def undo(page: Page) -> None:
    page.locator("#undo").click()
    dialog(page, "Undo the last operation")
    confirm(page, "Undo it")
    expect(page.locator("#outcome strong")).to_have_text("Undone")


def choose(page: Page, turn: str) -> None:
    page.locator("#timeline .row", has_text=turn).click()
    expect(page.locator("#timeline .row.chosen")).to_contain_text(turn)


def test_hover_preview_rewind_and_undo(shop: Stage) -> None:
    login, readme = shop.root / "shop/login.py", shop.root / "README.md"
    before = login.read_bytes(), readme.read_bytes()
    with shop.opened() as (page, _):
        message = page.locator(".message.user", has_text=LOGIN_BUG)
        control = message.locator(".take-back")
        expect(control).to_have_css("opacity", "0")
        message.hover()
        expect(control).to_have_css("opacity", "1")
        control.click()
        expect(page.locator("[role=menuitem]").first).to_be_focused()
        page.locator("[role=menuitem]", has_text="The files only").click()
        dialog(page, "Take back the files")
        plan = page.locator("dialog")
        expect(plan).to_contain_text("2 files written · 3 files deleted")
        expect(plan.locator(".path-row", has_text="README.md")).to_contain_text("your edit")
        expect(plan.locator(".path-row", has_text="tests/test_login.py")).to_contain_text("deleted")
        assert login.read_bytes() == before[0], "nothing happens before it is confirmed"
        confirm(page, "Take back 5 files")
        assert (login.read_bytes(), readme.read_bytes()) == (LOGIN, b"# A shop\n")
        expect(page.locator("#outcome")).to_contain_text("2 files written · 3 deleted")
        expect(page.locator(".row", has_text=LOGIN_BUG)).to_contain_text("files are before it")
        undo(page)
    assert (login.read_bytes(), readme.read_bytes()) == before


def test_my_edits_are_kept_if_i_say_so(shop: Stage) -> None:
    readme = (shop.root / "README.md").read_bytes()
    with shop.opened() as (page, _):
        choose(page, LOGIN_BUG)
        page.keyboard.press("f")
        page.get_by_role("button", name="Keep my edits").click()
        expect(page.locator("dialog")).to_contain_text("Your edits that stay (1)")
        confirm(page, "Take back 4 files")
        assert (shop.root / "README.md").read_bytes() == readme
        assert (shop.root / "shop/login.py").read_bytes() == LOGIN
        undo(page)
    assert b"please log in again" in (shop.root / "shop/login.py").read_bytes()


def test_one_turn_is_reverted_and_later_ones_stay(shop: Stage) -> None:
    with shop.opened() as (page, _):
        choose(page, "make the buttons larger")
        page.keyboard.press("r")
        dialog(page, "Revert only this turn")
        confirm(page, "Revert in 1 file")
        assert not (shop.root / "style.css").exists()
        assert (shop.root / "shop/words.py").exists(), "what came later stays"
        undo(page)
    assert (shop.root / "style.css").exists()


def test_what_two_changed_is_chosen(shop: Stage) -> None:
    login = shop.root / "shop/login.py"
    before = login.read_bytes()
    with shop.opened() as (page, _):
        choose(page, LOGIN_BUG)
        page.keyboard.press("r")
        dialog(page, "Both changed this")
        expect(page.locator(".side.ours")).to_contain_text("please log in again")
        page.get_by_role("button", name="Leave the whole file as it is").click()
        dialog(page, "Revert only this turn")
        confirm(page, "Revert in 1 file")
        assert login.read_bytes() == before
        assert not (shop.root / "tests/test_login.py").exists()
        undo(page)


def test_only_ticked_hunks_are_taken_back(shop: Stage) -> None:
    cart = shop.root / "shop/cart.py"
    before = cart.read_bytes()
    cart.write_bytes(b"# mine\n" + before)
    with shop.opened() as (page, _):
        choose(page, "make the total of the cart faster")
        page.keyboard.press("d")
        page.keyboard.press("o")
        take = page.locator("#take-ticked")
        expect(take).to_be_disabled()
        whole = page.locator('.file-head [data-tick="shop/cart.py"]')
        whole.check()
        expect(take).to_have_text("Take back 1 file…")
        page.locator('[data-tick="shop/cart.py 1"]').uncheck()
        expect(take).to_have_text("Take back 1 hunk…")
        assert whole.evaluate("(box) => box.indeterminate"), "some of it, not all"
        page.locator('.file-head [data-tick="shop/words.py"]').check()
        expect(take).to_have_text("Take back 1 file and 1 hunk…")
        take.click()
        changes = page.get_by_label("What would change").locator(".path-row")
        expect(changes).to_have_count(2)
        confirm(page, "Take back 2 files")
        assert cart.read_bytes() == before, "the other hunk stays as it is"
        assert not (shop.root / "shop/words.py").exists()
        undo(page)
    assert cart.read_bytes() == b"# mine\n" + before
    cart.write_bytes(before)


def test_a_fork_gives_a_line_to_copy_and_starts_nothing(shop: Stage) -> None:
    with shop.opened() as (page, _):
        choose(page, WORDS)
        page.keyboard.press("x")
        dialog(page, "Fork from here")
        confirm(page, "Fork")
        expect(page.locator("#outcome strong")).to_have_text("Forked")
        expect(page.locator(".resume code")).to_contain_text("claude")


def test_a_summary_says_what_is_sent_before_it_is(shop: Stage, tmp_path: Path) -> None:
    program = set_summariser(shop.root, tmp_path, env=shop.environ)
    with shop.opened() as (page, _):
        choose(page, WORDS)
        page.keyboard.press("a")
        dialog(page, "Summarise a part of the conversation")
        expect(page.locator("dialog")).to_contain_text(f"are sent to the model of: {program}.")
        confirm(page, "Send it, and summarise")
        expect(page.locator("#outcome strong")).to_have_text("Summarised")
        expect(page.locator("#undo")).to_have_count(0)


def test_a_running_turn_is_a_question_of_its_own(shop: Stage) -> None:
    """Answered with no it changes nothing; with yes the plan follows."""
    login = shop.root / "shop/login.py"
    before = login.read_bytes()
    with living_in(shop.environ), running(shop.root), shop.opened() as (page, _):
        choose(page, LOGIN_BUG)
        page.keyboard.press("f")
        dialog(page, "A question first")
        expect(page.get_by_role("button", name="No, change nothing")).to_be_focused()
        leave(page, "Enter")
        page.keyboard.press("f")
        page.get_by_role("button", name="Go on all the same").click()
        dialog(page, "Take back the files")
        leave(page)
    assert login.read_bytes() == before
    assert before != SIGNED
