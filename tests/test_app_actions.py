"""What can be done at an entry, and why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.actions import Action, actions, destination_of, proposal_of
from takeback.app.engine import Engine
from takeback.app.proposal import Ticked
from takeback.timeline.timeline import TimelineEntry
from takeback.tui.pieces import ACTIONS
from takeback.words.choices import obstacle, title
from tests.support.journey import write_files
from tests.tui.stage import files_of, tell_story


@pytest.fixture
def tb(workspace: Path) -> Iterator[Engine]:
    tell_story(workspace)
    with Engine.open(workspace) as opened:
        yield opened


def offered(
    tb: Engine, entry: TimelineEntry, *ticked: bytes, at_end: bool = False
) -> dict[str, Action]:
    place = destination_of(entry)
    if at_end:
        place = place.turned()
    found = actions(tb.choices(place.checkpoint), entry, place, Ticked(frozenset(ticked)))
    return {action.name: action for action in found}


def possible(found: dict[str, Action]) -> list[str]:
    return [name for name, action in found.items() if action.is_possible]


def test_at_a_turn_with_a_conversation_nearly_everything_is_possible(tb: Engine) -> None:
    found = offered(tb, tb.checkpoints()[0])
    assert {name: obstacle(action) for name, action in found.items() if obstacle(action)} == {
        "ticked": "no file is ticked",
        "undo": "nothing to undo",
        "redo": "nothing to redo",
    }
    assert list(found)[:5] == ["both", "conversation", "files", "ticked", "revert"]
    assert list(found)[-1] == "cancel"


def test_every_key_is_there_once(tb: Engine) -> None:
    for at_end in (False, True):
        keys = [
            ACTIONS[action.name]
            for action in offered(tb, tb.checkpoints()[0], at_end=at_end).values()
        ]
        assert len(keys) == len(set(keys))
        assert not {"j", "k"} & set(keys), "these move the cursor"


def test_a_turn_is_gone_back_to_before_it_or_to_its_end(tb: Engine) -> None:
    entry = tb.checkpoints()[1]
    before = destination_of(entry)
    assert entry.turn is not None
    assert (before.checkpoint, before.turned().checkpoint) == (entry.turn.before, entry.turn.after)
    assert before.turned().turned() == before
    assert "end" in offered(tb, entry)
    at_end = offered(tb, entry, at_end=True)
    assert "before" in at_end
    assert "end" not in at_end
    assert tb.choices(before.turned().checkpoint).about.startswith("after turn 2, ")


def test_a_turn_that_has_just_begun_has_no_end(tb: Engine) -> None:
    tb.session(agent="mine", native="s1").turn("go on", conversation=b"x\n").__enter__()
    assert obstacle(offered(tb, tb.checkpoints()[0])["end"]) == "the turn has no end yet"


def test_ticked_files_are_counted(tb: Engine) -> None:
    found = offered(tb, tb.checkpoints()[0], b"a.txt", b"c.txt")
    assert title(found["ticked"]) == "Only the 2 ticked files"
    assert found["ticked"].is_possible


def test_a_checkpoint_made_by_hand_has_no_conversation_and_no_end(tb: Engine) -> None:
    tb.checkpoint("by hand")
    found = offered(tb, tb.checkpoints()[0])
    assert possible(found) == ["files", "label", "copy", "cancel"]
    assert obstacle(found["both"]) == "this checkpoint was made without an agent"
    assert obstacle(found["revert"]) == "it is in no turn of an agent"
    assert "end" not in found


def test_a_session_without_a_conversation(workspace: Path) -> None:
    tell_story(workspace, conversation=False)
    with Engine.open(workspace) as tb:
        found = offered(tb, tb.checkpoints()[0])
    for name in ("both", "conversation", "fork", "fork files", "fork directory"):
        assert obstacle(found[name]) == "this session has no conversation"
    assert found["files"].is_possible


def test_a_place_where_the_conversation_was_not_kept(tb: Engine, workspace: Path) -> None:
    """Going there would begin an empty session without a word."""
    with tb.session(agent="mine", native="s1").turn("go on", conversation=b"x\n"):
        write_files(workspace, {"a.txt": b"3\n"})
    entry = tb.checkpoints()[0]
    assert offered(tb, entry)["both"].is_possible
    at_end = offered(tb, entry, at_end=True)
    assert obstacle(at_end["both"]) == "the conversation was not kept at this moment"


def test_conversations_that_are_switched_off(tb: Engine, workspace: Path) -> None:
    Path(tb.store_directory, "config.toml").write_text('conversation = "off"\n')
    with Engine.open(workspace) as other:
        found = offered(other, other.checkpoints()[0])
    assert obstacle(found["both"]) == "conversations are not kept (conversation = off)"


def test_undo_and_redo_name_what_they_are_about(tb: Engine) -> None:
    entry = tb.checkpoints()[0]
    tb.rewind(destination_of(entry).checkpoint, scope="files")
    assert title(offered(tb, entry)["undo"]) == "Undo the last rewind, to before turn 3: tidy up"
    tb.undo()
    found = offered(tb, entry)
    assert obstacle(found["undo"]) == "nothing to undo"
    assert title(found["redo"]) == "Redo the last rewind, to before turn 3: tidy up"


def test_ticked_paths_are_meant_literally(tb: Engine, workspace: Path) -> None:
    """A directory that became a link leads to another file of the same name."""
    write_files(workspace, {"old/x.txt": b"1\n", "other/x.txt": b"2\n"})
    at = tb.checkpoint().checkpoint
    (workspace / "old" / "x.txt").unlink()
    (workspace / "old").rmdir()
    (workspace / "old").symlink_to("other")
    write_files(workspace, {"other/x.txt": b"3\n"})
    proposal = proposal_of("ticked", tb.choices(at), ticked=[b"old/x.txt"])
    assert b"other/x.txt" not in {change.path for change in proposal.plan(tb).writes}


def test_at_an_expired_turn_the_conversation_alone_is_possible(tb: Engine) -> None:
    tb.prune(tb.plan_prune(["turn:1"]))
    [entry] = [one for one in tb.checkpoints() if one.turn is not None and one.turn.number == 1]
    found = offered(tb, entry, b"a")
    lacking = {
        name for name, action in found.items() if obstacle(action) == "its files have expired"
    }
    assert lacking == {"both", "files", "ticked", "revert", "fork files", "fork directory"}
    assert {"conversation", "fork", "label", "copy", "cancel"} <= set(possible(found))


def test_a_turn_is_reverted_from_either_end_of_it(tb: Engine, workspace: Path) -> None:
    entry = tb.checkpoints()[1]
    place = destination_of(entry)
    for checkpoint in (place.checkpoint, place.turned().checkpoint):
        plan = proposal_of("revert", tb.choices(checkpoint)).plan(tb)
        assert [change.path for change in plan.deletes] == [b"b.txt"]
        assert plan.writes == ()


def test_only_a_rewind_that_takes_own_edits_back_can_keep_them(tb: Engine, workspace: Path) -> None:
    found = tb.choices(destination_of(tb.checkpoints()[0]).checkpoint)
    files = proposal_of("files", found)
    assert files.ways_to_keep(files.plan(tb)) == {}, "there are none"
    write_files(workspace, {"mine.txt": b"mine\n"})
    [(what, kept)] = files.ways_to_keep(files.plan(tb)).items()
    plan = kept.plan(tb)
    assert (what, plan.edits, plan.outside) == ("edits", (b"mine.txt",), ())
    assert kept.ways_to_keep(plan) == {}
    for name in ("revert", "fork files", "conversation"):
        other = proposal_of(name, found)
        assert other.ways_to_keep(other.plan(tb)) == {}, name


def test_a_rewind_that_takes_back_another_sessions_work_can_leave_it(
    tb: Engine, workspace: Path
) -> None:
    found = tb.choices(destination_of(tb.checkpoints()[0]).checkpoint)
    with tb.session("other", "o").turn("me too"):
        write_files(workspace, {"theirs.txt": b"theirs\n"})
    files = proposal_of("files", found)
    assert set(files.ways_to_keep(files.plan(tb))) == {"all others"}
    write_files(workspace, {"mine.txt": b"mine\n"})
    ways = files.ways_to_keep(files.plan(tb))
    assert list(ways) == ["edits", "all others"]
    before = files_of(workspace)
    plan = ways["all others"].plan(tb)
    assert (plan.refused, plan.conflicts, plan.others, plan.outside) == ((), (), (), ())
    ways["all others"].carry_out(tb, shown=plan)
    after = files_of(workspace)
    assert (after["theirs.txt"], after["mine.txt"]) == (b"theirs\n", b"mine\n")
    assert after != before
    tb.undo()
    assert files_of(workspace) == before
