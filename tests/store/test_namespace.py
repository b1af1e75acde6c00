"""The names of refs: fit for a file and for git, never one name for two, and spelt in one place."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.context import Context
from takeback.git.refs import Refs
from takeback.store.namespace import SESSIONS, is_name, session_id, session_of, session_ref
from takeback.store.records import write_record
from takeback.timeline import timeline
from tests.support.engine import NOON, checkpoint, packing, under_lock
from tests.support.git import git

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


def is_taken(ref: str) -> bool:
    """Tells whether a store would read and write a ref of that name."""
    try:
        return Refs("/nowhere", is_name).read(ref) is None
    except ValueError:
        return False


@pytest.mark.parametrize(
    "native",
    [
        "2a8f",
        "0199a213-81c0-7800-8aa1-bbab2a035a53",
        "session_1.2",
        "s1.0a1b2c3d",
    ],
)
def test_an_ordinary_id_is_kept_as_it_is(native: str) -> None:
    assert session_id("claude", native) == f"claude-{native}"


def test_no_two_sessions_share_a_file_where_case_is_not_told_apart() -> None:
    natives = ("ses_aB", "ses_Ab", "ses_ab", "ses_AB", "SES_AB", "x" * 300, "X" * 300)
    names = [session_id(agent, native) for native in natives for agent in ("mine", "Mine")]
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.parametrize("native", ODD)
def test_an_odd_id_becomes_a_name_that_git_takes_for_a_ref(native: str) -> None:
    name = session_id("claude", native)
    ref = session_ref("m", name)
    assert is_taken(ref)
    done = subprocess.run(["git", "check-ref-format", ref], check=False)
    assert done.returncode == 0, name
    assert name.startswith("claude-")


def test_what_the_store_takes_for_a_ref_git_takes_too(tmp_path: Path) -> None:
    """One rule: a name that is made is a name that is written, and none that git would refuse."""
    names = sorted({session_id(agent, native) for agent in ODD for native in ODD})
    assert len(names) == len(ODD) ** 2
    for name in names:
        assert is_taken(session_ref("m", name))
        assert len(name) <= 120
    git(tmp_path, "init", "-q", "--bare", ".")
    tree = git(tmp_path, "hash-object", "-w", "-t", "tree", "/dev/null").decode().strip()
    lines = "".join(f"create {session_ref('m', name)} {tree}\n" for name in names)
    git(tmp_path, "update-ref", "--stdin", stdin=lines.encode())
    assert len(git(tmp_path, "for-each-ref").splitlines()) == len(names)


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


@given(ANY_TEXT, ANY_TEXT)
def test_every_agent_and_id_has_a_name_that_the_store_takes(agent: str, native: str) -> None:
    name = session_id(agent, native)
    assert is_taken(session_ref("m", name))
    assert session_id(agent, native) == name


TWO = st.tuples(ANY_TEXT, ANY_TEXT) | st.tuples(
    st.text("ab-:0.+", max_size=5), st.text("ab-:0.+", max_size=5)
)


@given(st.lists(TWO, min_size=2, max_size=2, unique=True))
def test_two_different_sessions_never_have_one_name(both: list[tuple[str, str]]) -> None:
    first, second = both
    assert session_id(*first) != session_id(*second)


def test_a_dash_in_an_agents_name_takes_no_session_of_another() -> None:
    assert session_id("my-agent", "7") != session_id("my", "agent-7")


def test_what_else_is_kept_there_is_no_session_no_news_and_gives_no_number(
    context: Context,
) -> None:
    """Say, what was pruned and can still be had back, or what a newer takeback keeps."""
    store = context.store
    made = checkpoint(context)
    seen = timeline.mark(store)
    trash = session_ref("m", made.session).replace("sessions", "trash")
    meta = {"type": "checkpoint", "sequence": 1000}
    with packing(context) as sink:
        commit = write_record(sink, meta, parents=(), time=NOON, message="pruned")
        sink.publish()
    store.refs.write(trash, commit, expect=None)
    assert timeline.mark(store) == seen
    assert [session_of(ref) for ref in store.refs.list(SESSIONS)] == [made.session]
    Path(store.path("sequence")).unlink()
    assert under_lock(context, lambda it: it.lock.next_sequence()) == made.sequence + 1
