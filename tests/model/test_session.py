"""Our names for the agents' sessions: fit for a file and a ref, and never one name for two."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.model.session import session_id

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
"""Any text that JSON can hold, halves of characters too."""

ODD = [
    "",
    ".",
    "..",
    "...",
    "../../etc/passwd",
    "a..b",
    "name.lock",
    "name.",
    ".hidden",
    "-x",
    "a/b",
    "a b",
    "a\nb",
    "a\0b",
    "@{0}",
    "a~1^2:3?4*5[6",
    "back\\slash",
    "ünïcode ☃",
    "caf\udce9",
    "half \ud83d",
    "x" * 500,
    "x" * 89 + "..y",
    "x" * 300 + ".lock",
]


def is_safe(name: str) -> bool:
    """Tells whether a name can be a file's and one part of a ref, and needs no quotes."""
    return (
        name.isascii()
        and all(c.isalnum() or c in "-_.+" for c in name)
        and not name.startswith((".", "-"))
        and not name.endswith((".", ".lock"))
        and ".." not in name
        and 0 < len(name) <= 110
    )


@pytest.mark.parametrize(
    "native",
    [
        "2a8f",
        "0199a213-81c0-7800-8aa1-bbab2a035a53",
        "session_1.2",
        "s1.0a1b2c3d",
        "UPPER",
    ],
)
def test_an_ordinary_id_is_kept_as_it_is(native: str) -> None:
    assert session_id("claude", native) == f"claude-{native}"


@pytest.mark.parametrize("native", ODD)
def test_an_odd_id_becomes_a_name_that_git_takes_for_a_ref(native: str) -> None:
    name = session_id("claude", native)
    assert is_safe(name)
    ref = f"refs/takeback/sessions/{name}"
    done = subprocess.run(["git", "check-ref-format", ref], check=False)
    assert done.returncode == 0, name


def test_odd_ids_that_look_alike_have_names_of_their_own() -> None:
    alike = ["a_b", "a:b", "a/.b", "a__b", "a.lock", "a.", "a"]
    long = [f"{'x' * 200}{number}" for number in range(20)]
    natives = {*alike, *long, *ODD}
    assert len({session_id("mine", native) for native in natives}) == len(natives)


def test_no_ordinary_id_has_the_name_of_an_odd_one() -> None:
    for native in ODD:
        name = session_id("mine", native)
        if name != f"mine-{native}":
            assert session_id("mine", name.removeprefix("mine-")) != name


@given(st.text(st.sampled_from("abcxyz019-_."), min_size=1, max_size=20), ANY_TEXT)
def test_every_id_has_a_safe_name_that_stays_the_same(agent: str, native: str) -> None:
    name = session_id(agent, native)
    assert is_safe(name) or not agent.strip("-.")
    assert session_id(agent, native) == name


@given(st.lists(ANY_TEXT, min_size=2, max_size=2, unique=True))
def test_two_different_ids_never_have_one_name(natives: list[str]) -> None:
    first, second = natives
    assert session_id("mine", first) != session_id("mine", second)
