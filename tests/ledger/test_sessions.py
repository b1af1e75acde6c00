"""Sessions and turns: whose turn is which over a fork, what a search finds, who owns a change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.ledger import by_session
from takeback.ledger import by_session as questions
from takeback.ledger.file import IN_MEMORY
from takeback.ledger.ledger import Ledger, Lineage
from takeback.model.checkpoint import Checkpoint, Origin, TranscriptPart
from takeback.model.entries import BACKGROUND, ENDED, PROMPTED, RUNNING, OwnedChange, Turn
from takeback.model.ids import CheckpointId, SessionId, SnapshotId
from takeback.model.turn import FORK, PROMPT, TURN_END

HERE = Lineage("")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    ledger = Ledger(IN_MEMORY)
    yield ledger
    ledger.close()


def add(
    ledger: Ledger,
    name: str,
    session: str,
    kind: Any,
    turn: int,
    *,
    origin: str | None = None,
    changes: tuple[OwnedChange, ...] = (),
) -> Checkpoint:
    """Adds a checkpoint, one second after the last, and notes its session."""
    last = ledger.last_point()
    place = 0 if last is None else last.position + 1
    checkpoint = Checkpoint(
        id=CheckpointId(name),
        session=SessionId(session),
        kind=kind,
        time=100.0 + place,
        snapshot=SnapshotId("a" * 40),
        commit=b"c" * 20,
        complete=True,
        files=1,
        turn=turn,
        agent="mine",
        native=session.removeprefix("mine-"),
    )
    if origin is not None:
        came_from = ledger.by_id(origin)
        assert came_from is not None
        checkpoint = checkpoint.replace(origin=Origin(came_from.session, came_from.id))
    ledger.add(checkpoint, place, changes)
    questions.note_session(ledger, checkpoint, event=kind != FORK)
    return checkpoint


def play(ledger: Ledger, session: str, number: int, *, state: Any = ENDED) -> Turn:
    """Adds a turn: a checkpoint before it, one after it."""
    before = add(ledger, f"{session}-{number}", session, PROMPT, number)
    after = add(ledger, f"{session}-{number}.end", session, TURN_END, number)
    turn = Turn(
        id=before.id,
        session=before.session,
        number=number,
        kind=PROMPTED,
        prompt=f"do {number}",
        native=None,
        before=before.id,
        after=after.id,
        began=before.time,
        ended=after.time if state == ENDED else None,
        state=state,
    )
    questions.add_turn(ledger, turn)
    return turn


# -- sessions


def test_the_session_that_was_last_active_comes_first(ledger: Ledger) -> None:
    for name, session in (("one", "mine-a"), ("two", "mine-b"), ("three", "mine-a")):
        add(ledger, name, session, PROMPT, 1)
    assert [session.id for session in questions.sessions(ledger)] == ["mine-a", "mine-b"]
    found = questions.session_by_id(ledger, "mine-a")
    assert found is not None
    assert (found.agent, found.native, found.newest) == ("mine", "a", "three")
    assert (found.began, found.last, found.last_event) == (100.0, 102.0, 102.0)
    assert questions.session_by_id(ledger, "mine") is None


def test_what_takeback_did_is_no_word_of_the_agent(ledger: Ledger) -> None:
    add(ledger, "one", "mine-a", PROMPT, 1)
    undo = add(ledger, "two", "mine-a", FORK, 1)
    found = questions.session_by_id(ledger, "mine-a")
    assert found is not None
    assert (found.last, found.last_event, found.newest) == (undo.time, 100.0, undo.id)


def test_a_session_keeps_what_later_checkpoints_do_not_say(ledger: Ledger) -> None:
    first = add(ledger, "one", "mine-a", PROMPT, 1)
    said = first.replace(directory="/w", transcript=(TranscriptPart("/t", 1),))
    questions.note_session(ledger, said, event=True)
    silent = first.replace(agent=None, native=None, transcript=())
    questions.note_session(ledger, silent, event=True)
    found = questions.session_by_id(ledger, "mine-a")
    assert found is not None
    assert (found.agent, found.native, found.directory, found.transcript) == (
        "mine",
        "a",
        "/w",
        "/t",
    )


def test_a_session_remembers_where_it_came_from(ledger: Ledger) -> None:
    add(ledger, "one", "mine-a", PROMPT, 1)
    add(ledger, "two", "mine-b", FORK, 0, origin="one")
    add(ledger, "three", "mine-b", PROMPT, 1)
    found = questions.session_by_id(ledger, "mine-b")
    assert found is not None
    assert (found.parent, found.origin, found.root) == ("mine-a", "one", None)


# -- turns


def test_turns_come_newest_first_and_only_the_newest_of_a_session_is_open(ledger: Ledger) -> None:
    play(ledger, "mine-a", 1, state=RUNNING)
    second = play(ledger, "mine-a", 2, state=BACKGROUND)
    other = play(ledger, "mine-b", 1, state=RUNNING)
    play(ledger, "mine-c", 1)
    found = questions.turns(ledger)
    assert [turn.id for turn in found] == ["mine-c-1", "mine-b-1", "mine-a-2", "mine-a-1"]
    assert [turn.id for turn in questions.turns(ledger, session="mine-a")] == [
        "mine-a-2",
        "mine-a-1",
    ]
    assert questions.open_turns(ledger) == [second, other]
    assert questions.newest_turn(ledger, "mine-a") == second
    assert questions.newest_turn(ledger, "nobody") is None
    assert questions.turn_by_id(ledger, "mine-b-1") == other
    assert questions.turn_by_id(ledger, "mine-b-1.end") is None


def test_a_turn_moves_on(ledger: Ledger) -> None:
    turn = play(ledger, "mine-a", 1, state=RUNNING)
    end = add(ledger, "later", "mine-a", TURN_END, 1)
    moved = turn.replace(after=end.id, ended=end.time, state=ENDED)
    questions.move_turn(ledger, moved)
    assert questions.turn_by_id(ledger, turn.id) == moved
    assert questions.open_turns(ledger) == []


def test_the_files_of_a_turn_are_replaced_as_a_whole(ledger: Ledger) -> None:
    turn = play(ledger, "mine-a", 1)
    first = [OwnedChange(b"b\xff", "added", 1, 0, "shell"), OwnedChange(b"a", "mode", None, None)]
    questions.set_turn_changes(ledger, turn.id, first)
    assert questions.turn_changes(ledger, turn.id) == first[::-1]
    questions.set_turn_changes(ledger, turn.id, [])
    assert questions.turn_changes(ledger, turn.id) == []


@pytest.fixture
def forked(ledger: Ledger) -> Ledger:
    """A parent of four turns; a child from before its turn 3; a grandchild from the child's end.

    mine-p   1   2   3   4
    mine-c       └── 3   4
    mine-g               └── 5
    """
    for number in (1, 2, 3, 4):
        play(ledger, "mine-p", number)
    add(ledger, "mine-c-first", "mine-c", FORK, 2, origin="mine-p-3")
    for number in (3, 4):
        play(ledger, "mine-c", number)
    add(ledger, "mine-g-first", "mine-g", FORK, 4, origin="mine-c-4.end")
    play(ledger, "mine-g", 5)
    return ledger


@pytest.mark.parametrize(
    ("session", "number", "found"),
    [
        ("mine-p", 1, "mine-p-1"),
        ("mine-p", 3, "mine-p-3"),
        ("mine-p", 4, "mine-p-4"),
        ("mine-p", 5, None),
        ("mine-p", 0, None),
        ("mine-c", 1, "mine-p-1"),
        ("mine-c", 2, "mine-p-2"),
        ("mine-c", 3, "mine-c-3"),
        ("mine-c", 4, "mine-c-4"),
        ("mine-c", 5, None),
        ("mine-g", 2, "mine-p-2"),
        ("mine-g", 3, "mine-c-3"),
        ("mine-g", 4, "mine-c-4"),
        ("mine-g", 5, "mine-g-5"),
        ("mine-g", 6, None),
        ("nobody", 1, None),
    ],
)
def test_a_number_means_the_turn_on_the_session_s_own_line(
    forked: Ledger, session: str, number: int, found: str | None
) -> None:
    turn = questions.turn_numbered(forked, session, number)
    assert (turn and turn.id) == found


def test_a_turn_that_the_parent_went_on_with_is_not_the_child_s(forked: Ledger) -> None:
    """The child of "before turn 3" has not yet had a turn 3: the parent's is abandoned to it."""
    add(forked, "mine-x-first", "mine-x", FORK, 2, origin="mine-p-3")
    for number in (3, 4):
        assert questions.turn_numbered(forked, "mine-x", number) is None
    second = questions.turn_numbered(forked, "mine-x", 2)
    assert second is not None
    assert second.id == "mine-p-2"
    assert questions.newest_number(forked, "mine-x") == 2


def test_the_end_of_the_parent_s_turn_is_the_child_s_too(forked: Ledger) -> None:
    add(forked, "mine-y-first", "mine-y", FORK, 3, origin="mine-p-3.end")
    third = questions.turn_numbered(forked, "mine-y", 3)
    assert third is not None
    assert third.id == "mine-p-3"
    assert questions.turn_numbered(forked, "mine-y", 4) is None


def test_a_line_goes_up_to_the_first_session(forked: Ledger) -> None:
    assert questions.line(forked, "mine-g") == ["mine-g", "mine-c", "mine-p"]
    assert questions.line(forked, "mine-p") == ["mine-p"]
    assert questions.line(forked, "nobody") == ["nobody"]
    assert [questions.newest_number(forked, f"mine-{s}") for s in "pcg"] == [4, 4, 5]
    assert questions.newest_number(forked, "nobody") == 0


def test_sessions_that_descend_from_each_other_do_not_go_round_for_ever(ledger: Ledger) -> None:
    """No store of ours holds that, but a damaged one might."""
    add(ledger, "one", "mine-a", PROMPT, 1)
    add(ledger, "two", "mine-b", FORK, 1, origin="one")
    ledger.rows("update sessions set parent = 'mine-b', origin = 'two' where id = 'mine-a'")
    assert questions.line(ledger, "mine-a") == ["mine-a", "mine-b"]
    assert questions.turn_numbered(ledger, "mine-a", 1) is None


# -- who owns a change


def turn_of(id: str, kind: Literal["prompt", "shell"] = "prompt") -> Turn:
    here = CheckpointId(id)
    return Turn(here, SessionId("mine-a"), 1, kind, None, None, here, here, 0.0, None, "ended")


def test_what_a_command_of_the_person_changed_is_found_at_its_end(ledger: Ledger) -> None:
    def found(path: bytes, who: str, turn: str | None = None) -> OwnedChange:
        named = None if turn is None else CheckpointId(turn)
        return OwnedChange(path, "modified", 1, 1, who, SessionId("mine-a"), named)

    add(ledger, "t", "mine-a", PROMPT, 1)
    add(ledger, "u", "mine-b", "round", 1, changes=(found(b"theirs", "shell", "z"),))
    changes = (found(b"a", "shell"), found(b"b", "interrupted operation"), found(b"c", "x", "z"))
    add(ledger, "v", "mine-a", "shell", 1, changes=changes)
    command = turn_of("v", "shell")
    assert [one.path for one in questions.changes_in(ledger, command)] == [b"a"]
    assert questions.others_during(ledger, command, 0, 2) == {b"theirs", b"b", b"c"}


def test_what_a_turn_is_known_to_have_changed_and_who_did_it_last(ledger: Ledger) -> None:
    def mine(path: bytes, who: str) -> OwnedChange:
        return OwnedChange(path, "modified", 1, 1, who, SessionId("mine-a"), CheckpointId("t"))

    outside = OwnedChange(b"x", "modified", 1, 1, "outside")
    add(ledger, "t", "mine-a", PROMPT, 1, changes=(outside,))
    add(ledger, "u", "mine-a", "round", 1, changes=(mine(b"a", "shell"),))
    added = (mine(b"a", "tool edit"), mine(b"b", "unknown"))
    add(ledger, "v", "mine-a", TURN_END, 1, changes=added)
    other = mine(b"c", "shell").replace(turn=CheckpointId("z"))
    add(ledger, "w", "mine-b", "round", 1, changes=(other,))

    def found(turn: Turn, after: int) -> list[tuple[int, bytes, str | None]]:
        changes = questions.changes_in(ledger, turn, after)
        return [(one.position, one.path, one.who) for one in changes]

    t = turn_of("t")
    assert found(t, 0) == [(1, b"a", "shell"), (2, b"a", "tool edit"), (2, b"b", "unknown")]
    assert found(t, 1) == [(2, b"a", "tool edit"), (2, b"b", "unknown")]
    assert found(turn_of("u"), -1) == []
    assert questions.others_during(ledger, t, 0, 2) == set()
    assert questions.others_during(ledger, t, 0, 3) == {b"c"}
    assert questions.others_during(ledger, turn_of("u"), 0, 2) == {b"a", b"b"}
    since = [mine(b"a", "shell"), *added, other]
    assert questions.changed_since(ledger, CheckpointId("t"), HERE) == since
    assert questions.changed_since(ledger, CheckpointId("u"), HERE) == since[1:]
    assert questions.changed_since(ledger, CheckpointId("w"), HERE) == []


def test_a_tool_claims_its_file_from_whoever_was_only_suspected(ledger: Ledger) -> None:
    """Two sessions worked at once; the second one's tool names the path afterwards."""
    session, turn = SessionId("mine-b"), CheckpointId("turn")
    found = (
        OwnedChange(b"mine", "modified", 1, 0, "unknown", SessionId("mine-a"), CheckpointId("t")),
        OwnedChange(b"theirs", "modified", 1, 0, "unknown", SessionId("mine-a")),
        OwnedChange(b"tool", "modified", 1, 0, "tool edit", SessionId("mine-a")),
        OwnedChange(b"outside", "modified", 1, 0, "outside"),
    )
    old = OwnedChange(b"mine", "added", 1, 0, "unknown", SessionId("mine-a"))
    add(ledger, "old", "mine-a", "round", 1, changes=(old,))
    add(ledger, "new", "mine-a", "round", 1, changes=found)
    for path in (b"mine", b"tool", b"outside"):
        mine = OwnedChange(path, "modified", None, None, "tool write", session, turn)
        questions.claim(ledger, mine, since=CheckpointId("old"))
    after = {change.path: change for change in ledger.changes(CheckpointId("new"))}
    for path in (b"mine", b"outside"):
        claimed = after[path]
        assert (claimed.who, claimed.session, claimed.turn) == ("tool write", session, turn)
        assert claimed.kind == "modified"
    assert after[b"theirs"] == found[1]
    assert after[b"tool"] == found[2]
    assert ledger.changes(CheckpointId("old")) == [old]


# -- search


def index(ledger: Ledger, *texts: str) -> None:
    for number, text in enumerate(texts):
        checkpoint = add(ledger, f"c{number}", "mine-a", PROMPT, number)
        questions.index_words(ledger, [(text, checkpoint.id, "prompt")])


def hits(ledger: Ledger, *words: str) -> list[str]:
    return [id for id, _, _ in questions.search(ledger, words)]


def test_what_holds_the_text_is_found_newest_first(ledger: Ledger) -> None:
    index(ledger, "Fix the login bug", "add a test", "the LOGIN page again")
    assert hits(ledger, "login") == ["c2", "c0"]
    assert hits(ledger, "ogin bu") == ["c0"]
    assert hits(ledger, "logout") == []
    assert questions.search(ledger, ["test"]) == [("c1", "prompt", "add a test")]


def test_all_words_have_to_be_there_in_any_order(ledger: Ledger) -> None:
    index(ledger, "Fix the login bug", "fix a bug", "login page", "a bug: fix the LOGIN")
    assert hits(ledger, "fix", "login") == hits(ledger, "LOGIN", "fix") == ["c3", "c0"]
    assert hits(ledger, "a", "bug") == ["c3", "c1"]
    assert hits(ledger, "fix the") == ["c3", "c0"]
    assert hits(ledger, "fix", "nothing") == []


def test_capital_letters_of_every_alphabet_are_the_same(ledger: Ledger) -> None:
    index(ledger, "Ärger mit Öl", "исправь ОШИБКУ", "ΛΌΓΟΣ")
    assert hits(ledger, "ärger") == hits(ledger, "ÄRGER") == hits(ledger, "öl") == ["c0"]
    assert hits(ledger, "ошибку") == hits(ledger, "ПРА") == hits(ledger, "ши") == ["c1"]
    assert hits(ledger, "λόγ") == ["c2"]


def test_a_path_and_a_prompt_of_one_checkpoint_are_two_finds(ledger: Ledger) -> None:
    index(ledger, "change login.py")
    questions.index_words(ledger, [("src/login.py", CheckpointId("c0"), "path")])
    assert questions.search(ledger, ["login.py"]) == [
        ("c0", "path", "src/login.py"),
        ("c0", "prompt", "change login.py"),
    ]


@pytest.mark.parametrize(
    "odd",
    [
        'say "hello"',
        '"',
        '""',
        "a AND b OR c",
        "NOT this",
        "NEAR(a b)",
        "text : x",
        "col:umn",
        "star*",
        "^caret",
        "(paren",
        "semi; drop table words; --",
        "100%",
        "under_score",
        "it's",
        "back\\slash",
        "a+b-c",
        "{brace}",
        "naïve ☃ 漢字かな",
        "two\nlines",
        "caf\udce9 au lait",
        "  blanks  ",
    ],
)
def test_signs_that_mean_something_to_the_index_are_only_signs(ledger: Ledger, odd: str) -> None:
    index(ledger, "something else", f"before {odd} after")
    assert hits(ledger, odd) == ["c1"]
    assert questions.search(ledger, [odd])[0][2] == f"before {odd} after"


@pytest.mark.parametrize("short", ["a", "ab", "é", "漢", "%", "_", '"', "*", " "])
def test_one_or_two_letters_are_found_too(ledger: Ledger, short: str) -> None:
    index(ledger, f"x{short}y", "zzz", f"{short}")
    assert hits(ledger, short) == ["c2", "c0"]


def test_nothing_is_typed_and_everything_is_found(ledger: Ledger) -> None:
    index(ledger, "one", "two")
    assert hits(ledger, "") == ["c1", "c0"]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_text_finds_the_prompt_that_is_that_text(ledger: Ledger, text: str) -> None:
    ledger.clear()
    index(ledger, text)
    assert hits(ledger, text) == ["c0"]


def test_what_was_tested_is_found_by_an_index_and_not_by_reading_all(ledger: Ledger) -> None:
    for question in (questions.TESTED, by_session.FOLLOWING):
        plan = ledger.rows(f"explain query plan {question}")
        assert "checkpoints_telling" in str(plan)
