"""One error, in the words of each face."""

from __future__ import annotations

from takeback.errors import (
    CONVERSATION_ALONE,
    FILES_ALONE,
    Command,
    Expired,
    LedgerDamaged,
    Refused,
    UsageError,
)
from takeback.model.operation import Refusal
from takeback.words import choices
from takeback.words.choices import trouble_lines

OTHERS = Refusal("others", "another session changed a", ("keep_others", "overwrite_others"))
TURN = Refusal("during_turn", "mine is working", ("during_turn",))
FULL = Refusal("disk_space", "the disk is full")


def refused(*refusals: Refusal) -> Refused:
    return Refused("it is so", hint="nothing was changed", refusals=refusals)


def test_the_command_line_names_its_options() -> None:
    told = choices.said(refused(TURN, OTHERS, TURN))
    assert (
        told.message == "mine is working; and another session changed a; --keep-others leaves them"
    )
    assert told.hint == "to do it all the same: --during-turn --overwrite-others"
    assert told.flag == "--during-turn"
    assert choices.said(refused(TURN, FULL)).hint == "nothing was changed"
    assert choices.said(refused(TURN, FULL)).flag == ""


def test_programs_read_what_to_do_as_data() -> None:
    told = choices.document(choices.said(LedgerDamaged("it is torn")))
    assert told["hint"] == "make it anew: takeback doctor --rebuild"
    assert told["actions"] == [{"command": ["doctor", "--rebuild"]}]
    assert "flag" not in told
    told = choices.document(choices.said(refused(TURN)))
    assert (told["flag"], told["actions"]) == ("--during-turn", [{"option": ["--during-turn"]}])


def test_inside_an_agent_it_is_said_as_it_can_be_typed_there() -> None:
    forms = {"log": "", "undo": "undo"}
    alone = UsageError("no conversation", hint=("take back the files alone: ", FILES_ALONE))
    assert (
        choices.inside(alone, "/takeback 3", forms)
        == "take back the files alone: /takeback 3 files"
    )
    expired = Expired("they are gone", hint=("go on without: ", CONVERSATION_ALONE))
    assert (
        choices.inside(expired, "/takeback 3", forms) == "go on without: /takeback 3 conversation"
    )
    assert choices.in_picker(expired) == "go on without: The conversation only"
    again = UsageError("it changed", hint=("run it again: ", Command("undo")))
    assert choices.inside(again, "/takeback undo yes", forms) == "run it again: /takeback undo"
    missing = UsageError("no such turn", hint=("the turns: ", Command("log")))
    assert choices.inside(missing, "/takeback 9", forms) == "the turns: /takeback"
    said = choices.inside(refused(TURN, OTHERS), "/takeback 3 yes", forms)
    assert said == "To do it all the same: /takeback 3 yes --during-turn --overwrite-others"
    damaged = choices.inside(LedgerDamaged("it is torn"), "/takeback", forms)
    assert damaged == "make it anew: takeback doctor --rebuild"


def test_the_picker_names_no_option() -> None:
    alone = UsageError("no conversation", hint=("take back the files alone: ", FILES_ALONE))
    assert list(trouble_lines(alone, interrupted=False))[-1] == (
        "Take back the files alone: The files only."
    )
    assert "--" not in "".join(trouble_lines(refused(TURN, OTHERS), interrupted=False))
