"""The parts of the page keep the rules that its safety and its speed rest on."""

from __future__ import annotations

import re
from pathlib import Path

import takeback.serve

STATIC = Path(takeback.serve.__file__).parent / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
_MARKUP = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser"
    r"|\beval\(|new Function|setAttribute\(\"(?:style|on)|\.href\s*=|\.src\s*=|window\.open"
    r"|new EventSource|document\.cookie|import\("
)
"""What would make something else than text of words, or send the secret by another way."""
_NODES = re.compile(r"createElement|createTextNode|\.setAttribute\(name")


def test_words_become_nodes_in_one_module_alone() -> None:
    for script in SCRIPTS:
        text = script.read_text()
        assert re.findall(_MARKUP, text) == [], script.name
        assert script.name == "text.js" or _NODES.search(text) is None, script.name


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|javascript:", page) == []
    for part in STATIC.iterdir():
        addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"')]*", part.read_text())
        assert [one for one in addresses if "www.w3.org" not in one] == [], part.name


def test_every_module_is_small_and_loaded_at_once() -> None:
    page = (STATIC / "index.html").read_text()
    named = re.findall(r'(?:src|href)="/static/([\w.]+)"', page)
    assert sorted(named) == sorted(
        part.name for part in STATIC.iterdir() if part.name != "index.html"
    )
    for part in STATIC.iterdir():
        assert len(part.read_text().splitlines()) < 300, part.name


def test_every_key_is_in_the_docs() -> None:
    keys = set(re.findall(r'^    \["(.+?)", "', (STATIC / "keys.js").read_text(), re.MULTILINE))
    keys |= set(re.findall(r'key: "(.)"', (STATIC / "actions.js").read_text()))
    page = Path(__file__).parents[2] / "docs" / "page.md"
    documented = set(re.findall(r"`(.+?)`", page.read_text().partition("## Keys")[2]))
    assert len(keys) > 20
    assert keys - documented == set()
