"""Words of people, models and tools change nothing in the page: 0 requests leave, 0 scripts run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from takeback.app.engine import Engine
from tests.page import world
from tests.page.stage import Stage, leave, living_in, staged
from tests.support.engine import NOON, TestClock
from tests.support.git import new_repository
from tests.support.sealed import sealed_environment
from tests.tui.world import HOUR

POISON = (
    '<img src="https://evil.invalid/x" onerror="window.ran=1"><script>window.ran=1</script>'
    "<svg/onload=window.ran=1> javascript:window.ran=1 [go](javascript:window.ran=1) "
    "![](https://evil.invalid/y) {{7*7}} ${7*7} \u202etxt.exe\u2066 \x1b[31m\r\nSet-Cookie: a=b"
)
NAME = '<img src=x onerror="window.ran=1">\u202egpj.py'
LABEL = "<b onmouseover=window.ran=1>\u202ex"
_RAW = """() => {
  const raw = /[^\\P{Cc}\\n\\t]|\\p{Cf}/u;
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === 3 && raw.test(node.data)) found.push(node.data);
    for (const one of node.attributes ?? []) if (raw.test(one.value)) found.push(one.value);
  }
  return found;
}"""
"""Looks for control and bidi characters in all of the document."""
_MADE = (
    "document.querySelectorAll('img, body script, iframe, b, [onerror], a[href*=script]').length"
)


@pytest.fixture(scope="module")
def hostile(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A workspace whose every word is hostile, its own name too."""
    base = tmp_path_factory.mktemp("hostile")
    environ = sealed_environment(base)
    root = base / "<img src=x onerror=window.ran=1>"
    root.mkdir()
    with living_in(environ):
        new_repository(root)
        _tell(root, base / "home")
    with staged(chromium, root, environ) as stage:
        yield stage


def _tell(root: Path, home: Path) -> None:
    clock = TestClock()
    (root / "calm.txt").write_bytes(b"calm\n")
    with Engine.open(root, clock=clock) as tb:
        one = world.claude(tb, root, clock, home)
        poison = POISON.encode()
        answer = f"{POISON}\n```\n{POISON}\n```"
        one.say(POISON, 2 * HOUR, {NAME: poison, "page.html": poison}, answer)
        one.say("calm", HOUR, {NAME: poison + b"\nmore"}, POISON)
        clock.time = NOON
        tb.label(tb.find("turn:1", session=f"claude-{world.NATIVE}").id, LABEL)


def test_hostile_words_are_text(hostile: Stage) -> None:
    with hostile.opened() as (page, _):

        def is_harmless() -> None:
            assert page.evaluate("window.ran") is None
            assert page.evaluate(_MADE) == 0
            assert page.evaluate(_RAW) == []

        expect(page.locator("#where")).to_contain_text("<img src=x")
        expect(page.locator(".row", has_text="<b onmouseover")).to_have_count(1)
        message = page.locator(".message.user", has_text="evil.invalid")
        expect(message).to_contain_text("\\u202etxt.exe\\u2066 \\x1b[31m\\x0d")
        expect(page.locator(".said-code")).to_contain_text("<script>window.ran=1</script>")
        is_harmless()
        message.hover()
        message.locator(".take-back").click()
        is_harmless()
        page.keyboard.press("f")
        expect(page.locator("dialog")).to_contain_text("\\u202egpj.py")
        is_harmless()
        leave(page)
        page.keyboard.press("d")
        expect(page.locator("#changes")).to_contain_text("<script>window.ran=1</script>")
        page.keyboard.press("v")
        is_harmless()
        page.keyboard.press("l")
        expect(page.locator("dialog input")).to_have_value(LABEL.replace("\u202e", "\\u202e"))
        leave(page)
        page.keyboard.press("/")
        page.keyboard.type("img")
        expect(page.locator("#timeline .row code.title").first).to_contain_text("<img src=x")
        is_harmless()


def test_the_page_runs_no_script_but_its_own(hostile: Stage) -> None:
    """What would get past the words would still meet the policy of the page."""
    with hostile.opened() as (page, seen):
        expect(page.locator(".row").first).to_be_visible()
        told = page.evaluate(
            """async () => {
              const told = [];
              document.addEventListener('securitypolicyviolation',
                (event) => told.push(event.effectiveDirective));
              try { document.body.innerHTML = '<b>x</b>'; } catch { told.push('no markup'); }
              const script = document.createElement('script');
              try { script.textContent = 'window.ran = 1'; } catch { told.push('no text'); }
              document.head.append(script);
              const image = document.createElement('img');
              image.src = 'https://evil.invalid/x';
              document.head.append(image);
              await fetch('https://evil.invalid/y').catch(() => told.push('no fetch'));
              await new Promise((done) => setTimeout(done, 200));
              return told;
            }"""
        )
        assert {"no markup", "no text", "no fetch", "img-src", "connect-src"} <= set(told)
        assert page.evaluate("window.ran") is None
        seen.errors.clear()  # the browser has told of each
