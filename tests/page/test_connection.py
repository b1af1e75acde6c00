"""The server goes, and somebody else comes: the page says so, and gives its secret to nobody."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import expect

from tests.cli.typing_person import at_a_terminal
from tests.page.stage import KEPT, PATIENCE, Stage, leave, served
from tests.support.cli import Cli
from tests.support.processes import join


class Impostor(BaseHTTPRequestHandler):
    """Another program on the freed port: it answers all, and notes what it was told."""

    heard: list[str]

    def _answer(self) -> None:
        self.heard.append(f"{self.requestline}\n{self.headers}")
        body = json.dumps({"proof": "0" * 64, "workspaces": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer  # noqa: N815

    def log_message(self, *words: object) -> None:
        """Says nothing."""


@contextmanager
def impostor(port: int) -> Iterator[list[str]]:
    heard: list[str] = []
    kind = type("Heard", (Impostor,), {"heard": heard})
    server = ThreadingHTTPServer(("127.0.0.1", port), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown()
        join(thread)
        server.server_close()


def test_a_page_whose_server_is_gone_says_so_and_tells_nobody_its_secret(
    shop: Stage, tmp_path: Path
) -> None:
    with served(shop.root, shop.environ) as server:
        mine = Stage(shop.browser, server, shop.root, shop.environ)
        port = int(server.url.rstrip("/").rpartition(":")[2])
        with mine.opened() as (page, seen):
            expect(page.locator("#timeline .row").first).to_be_visible()
            server.end()
            banner = page.locator("#banner")
            expect(banner).to_contain_text("The server does not answer")
            expect(banner.locator("code")).to_have_text("takeback serve --open")
            with impostor(port) as heard:
                expect(banner).to_contain_text("Another program answers")
                page.keyboard.press("s")  # it asks, finds nobody that it trusts, and is closed
                expect(page.locator("dialog")).to_have_count(0)
                page.keyboard.press("?")
                leave(page)
                assert heard
                assert not any("Authorization" in one or server.secret in one for one in heard)
                assert all(one.startswith("POST /api/v1/challenge") for one in heard)
            seen.errors.clear()  # the browser tells of requests that nobody answered


def test_a_server_that_is_killed_at_the_moment_of_yes_is_told_of(shop: Stage) -> None:
    with served(shop.root, shop.environ) as server:
        mine = Stage(shop.browser, server, shop.root, shop.environ)
        with mine.opened() as (page, seen):
            page.locator(".row", has_text="fix the login bug").click()
            page.keyboard.press("f")
            agree = page.locator("dialog button.primary")
            expect(agree).to_be_visible()
            server.process.kill()
            server.process.wait(60)
            agree.click()
            said = page.locator("dialog")
            expect(said).to_contain_text("The server does not answer")
            expect(said).to_contain_text("nothing is left half-done")
            leave(page)
            expect(page.locator("#banner")).to_contain_text("takeback serve --open")
            seen.errors.clear()  # the browser tells of requests that nobody answered


def test_the_file_that_open_makes_leads_in_once(shop: Stage, tmp_path: Path) -> None:
    opener = tmp_path / "programs" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text("#!/bin/sh\n")  # the browser is ours
    opener.chmod(0o755)
    environ = {**shop.environ, "PATH": f"{opener.parent}:{shop.environ['PATH']}"}
    with served(shop.root, environ, "--open") as server, shop.browser.new_context() as tab:
        made = Path(environ["TAKEBACK_HOME"], "serve", str(server.process.pid), "open.html")
        words = made.read_text()
        tab.set_default_timeout(PATIENCE)
        page = tab.new_page()
        page.goto(f"file://{made}")
        expect(page.locator("#timeline .row").first).to_be_visible()
        assert page.url.startswith(f"{server.url}#w=")
        assert "code" not in page.evaluate("location.href + JSON.stringify(history.state)")
        assert page.evaluate(f"sessionStorage.getItem({json.dumps(KEPT)})") == server.secret
        assert not made.exists()
        page.reload()
        expect(page.locator("#timeline .row").first).to_be_visible()
        made.write_text(words)  # as if somebody had kept it
        other = tab.new_page()
        other.goto(f"file://{made}")
        expect(other.locator("#banner")).to_contain_text("This page has no key")


def another_workspace(shop: Stage, name: str) -> Path:
    """Makes a workspace beside the shop, which is the first in every list."""
    root = shop.root.with_name(name)
    root.mkdir()
    (root / "a.txt").write_text("a")
    Cli(root, shop.environ).ok("checkpoint", "-m", f"here-in-{name}")
    return root


def test_open_shows_the_workspace_that_one_stands_in_and_not_the_first(
    shop: Stage, tmp_path: Path
) -> None:
    opener = tmp_path / "programs" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text("#!/bin/sh\n")  # the browser is ours
    opener.chmod(0o755)
    root = another_workspace(shop, "zoo")
    (root / "below").mkdir()
    environ = {**shop.environ, "PATH": f"{opener.parent}:{shop.environ['PATH']}"}
    with served(root / "below", environ, "--open") as server, shop.browser.new_context() as tab:
        made = Path(environ["TAKEBACK_HOME"], "serve", str(server.process.pid), "open.html")
        tab.set_default_timeout(PATIENCE)
        page = tab.new_page()
        page.goto(f"file://{made}")
        expect(page.locator("#timeline .row", has_text="here-in-zoo")).to_be_visible()
        expect(page).to_have_title("zoo · takeback")


def test_the_link_that_is_printed_at_a_terminal_leads_in_once(shop: Stage) -> None:
    root = another_workspace(shop, "yard")
    link = re.compile(r"^  (http://127.0.0.1:\d+/#code=[\w-]{43}&w=[0-9a-f]{16})$", re.MULTILINE)

    def follow(screen: str) -> None:
        found = link.search(screen)
        assert found is not None, screen
        with shop.browser.new_context() as tab:
            tab.set_default_timeout(PATIENCE)
            page = tab.new_page()
            page.goto(found[1])
            expect(page.locator("#timeline .row", has_text="here-in-yard")).to_be_visible()
            assert "code" not in page.evaluate("location.href + JSON.stringify(history.state)")
        with shop.browser.new_context() as tab:
            tab.set_default_timeout(PATIENCE)
            page = tab.new_page()
            page.goto(found[1])
            expect(page.locator("#banner")).to_contain_text("This page has no key")

    ends = (b"Ctrl-C ends it.\r\n",)
    cli = Cli(root, shop.environ)
    seen = at_a_terminal(cli, "serve", answers=("\x03",), asks=ends, looks=follow)
    assert seen.status == 0, seen.screen
    assert "ssh" not in seen.screen


def test_a_page_without_a_key_says_how_to_get_one(shop: Stage) -> None:
    with shop.opened() as (page, seen):
        expect(page.locator("#timeline .row").first).to_be_visible()
        context = page.context.browser
        assert context is not None
        with context.new_context() as other:
            other.set_default_timeout(PATIENCE)
            bare = other.new_page()
            bare.goto(shop.server.url)
            expect(bare.locator("#banner")).to_contain_text("This page has no key")
            bare.goto(f"{shop.server.url}#code=wrong")
            bare.reload()
            expect(bare.locator("#banner")).to_contain_text("This page has no key")
        assert seen.errors == []
