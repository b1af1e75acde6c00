"""One server and one browser for the tests of a module, and a page that watches what it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.page.browser import ARGUMENTS
from tests.support.engine import NOON
from tests.support.sealed import end_standby

KEPT = "takeback secret"
"""Where the page keeps the secret, for its tab alone."""
PATIENCE = 60_000
"""Milliseconds that anything may take which has to happen: a busy machine is no failure."""
expect.set_options(timeout=PATIENCE)


def leave(page: Page, key: str = "Escape") -> None:
    """Presses a key that closes the dialog, and waits until it is gone: the next key is not its."""
    page.keyboard.press(key)
    expect(page.locator("dialog")).to_have_count(0)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, as an editor knows it."""

    process: subprocess.Popen[str]
    url: str
    secret: str

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


@contextmanager
def served(directory: Path, environ: Mapping[str, str], *options: str) -> Iterator[Server]:
    """Starts ``takeback serve`` and ends it, whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "takeback", "serve", "--json", *options],
        cwd=directory,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield Server(process, told["url"], Path(told["secret_file"]).read_text().strip())
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@dataclass  # playwright hangs things of its own on what listens
class Watched:
    """What a page did: its requests, its errors, and scripts that should not have run."""

    origin: str
    requests: list[Request] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("request", lambda request: self.requests.append(request))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("dialog", self._dismiss)

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.errors.append(said.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def left(self) -> list[str]:
        """Returns the addresses of requests to anywhere but the server.

        What the policy of the page stopped is told of, too, and never left.
        """
        away = (one for one in self.requests if not one.url.startswith(self.origin))
        return [one.url for one in away if one.failure != "csp"]


@dataclass(frozen=True, slots=True)
class Stage:
    """A browser, a server, and the workspace that it shows first."""

    browser: Browser
    server: Server
    root: Path
    environ: Mapping[str, str]

    @contextmanager
    def opened(self, fragment: str = "", **options: Any) -> Iterator[tuple[Page, Watched]]:
        """Opens the page in a tab of its own; at the end nothing may have gone wrong in it."""
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        context = self.browser.new_context(timezone_id="UTC", locale="en-GB", **options)
        context.set_default_timeout(PATIENCE)
        secret = json.dumps(self.server.secret)
        context.add_init_script(f"sessionStorage.setItem({json.dumps(KEPT)}, {secret})")
        page = context.new_page()
        page.clock.set_fixed_time(datetime.fromtimestamp(NOON, UTC))
        seen = Watched(self.server.url)
        seen.follow(page)
        try:
            page.goto(self.server.url + fragment)
            yield page, seen
            assert seen.errors == []
            assert seen.left == []
            assert seen.dialogs == []
        finally:
            context.close()


@contextmanager
def staged(browser: Path, root: Path, environ: Mapping[str, str]) -> Iterator[Stage]:
    """Starts a browser and a server for a workspace."""
    with served(root, environ) as server, sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(browser), args=ARGUMENTS)
        try:
            yield Stage(launched, server, root, environ)
        finally:
            launched.close()
            end_standby(Path(environ["TAKEBACK_HOME"]))


@contextmanager
def living_in(environ: Mapping[str, str]) -> Iterator[None]:
    """Makes an environment this process's own for a while."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
