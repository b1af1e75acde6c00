"""What a person types to takeback in the agent itself, answered by the prompt hook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.app.engine import Engine
from takeback.prompt_command import answer
from tests.support.cli import Cli
from tests.support.faults import Faults, run
from tests.support.host import Host, register
from tests.support.journey import write_files
from tests.support.summariser import set_summariser

SESSION = "3f88220e-0ae1-467c-a979-6dc8bae2a4ff"


def tell(cli: Cli, agent: str, event: str, **fields: object) -> str:
    """Sends one hook event as Claude Code or Codex does; returns what the hook prints."""
    payload = {"hook_event_name": event, "session_id": SESSION, "cwd": str(cli.directory), **fields}
    return cli.ok("hook", agent, stdin=json.dumps(payload).encode()).stdout


def ask(cli: Cli, text: str, agent: str = "claude") -> str:
    """Types a prompt that takeback answers; returns the text that the person is shown."""
    key = "prompt_id" if agent == "claude" else "turn_id"
    printed = tell(cli, agent, "UserPromptSubmit", prompt=text, **{key: "command"})
    answer = json.loads(printed)
    assert answer["decision"] == "block"
    assert isinstance(answer["reason"], str)
    return answer["reason"]


@pytest.fixture
def played(cli: Cli, workspace: Path) -> Cli:
    """Two turns of Claude Code, without a transcript."""
    write_files(workspace, {"a.txt": b"0\n"})
    for number in (1, 2):
        turn = f"p{number}"
        tell(cli, "claude", "UserPromptSubmit", prompt_id=turn, prompt=f"make it {number}")
        write_files(workspace, {"a.txt": b"%d\n" % number})
        tell(cli, "claude", "Stop", prompt_id=turn)
    return cli


@pytest.fixture
def host(cli: Cli, tmp_path: Path) -> Host:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return Host(cli, folder)


def test_alone_it_lists_the_newest_turns(played: Cli) -> None:
    lines = ask(played, "/takeback").splitlines()
    assert 'turn 2  "make it 2"  a.txt  +1 -1  <- here' in lines[0]
    assert 'turn 1  "make it 1"' in lines[1]
    assert lines[2:] == [
        "Go back to before one: /takeback N; take back only one: /takeback revert N",
        "All that can be typed: /takeback help",
    ]


def test_a_number_shows_the_plan_and_changes_nothing(played: Cli, workspace: Path) -> None:
    text = ask(played, "/takeback 2")
    assert text.splitlines()[0].startswith("Rewind 1 file to ")
    assert "  write a.txt" in text
    assert text.endswith("To do it: /takeback 2 yes")
    assert (workspace / "a.txt").read_bytes() == b"2\n"


def test_yes_does_it_and_undo_takes_it_back(played: Cli, workspace: Path) -> None:
    assert ask(played, "/takeback 2 yes").startswith("Rewound 1 file to ")
    assert (workspace / "a.txt").read_bytes() == b"1\n"
    assert "To do it: /takeback undo yes" in ask(played, "/takeback undo")
    assert ask(played, "/takeback undo yes").startswith("Undid the rewind")
    assert (workspace / "a.txt").read_bytes() == b"2\n"
    assert ask(played, "/takeback redo yes").startswith("Redid the rewind")


def test_the_command_is_no_turn(played: Cli) -> None:
    before = len(played.ok("--json", "log", "--all").json_lines)
    ask(played, "/takeback")
    ask(played, "/takeback 1")
    assert len(played.ok("--json", "log", "--all").json_lines) == before


@pytest.mark.parametrize("words", ["9", "nosuch", "undo"])
def test_what_cannot_be_done_is_said(played: Cli, words: str) -> None:
    assert ask(played, f"/takeback {words}").startswith("takeback: ")


@pytest.mark.parametrize("words", ["help", "1 2 3", "--help"])
def test_a_slip_shows_how_it_is_called(played: Cli, words: str) -> None:
    assert "/takeback 3 yes" in ask(played, f"/takeback {words}")


def test_prompts_that_only_look_like_it_are_prompts(played: Cli) -> None:
    for number, prompt in enumerate(("/takebacks", "explain /takeback", "/takeback 1\nand more")):
        printed = tell(played, "claude", "UserPromptSubmit", prompt=prompt, prompt_id=f"x{number}")
        assert printed == ""
    assert played.ok("--json", "log").json_lines[0]["prompt"] == "/takeback 1\nand more"


def test_codex_is_asked_by_a_plain_word(cli: Cli, workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"0\n"})
    tell(cli, "codex", "UserPromptSubmit", turn_id="t1", prompt="work")
    write_files(workspace, {"a.txt": b"1\n"})
    tell(cli, "codex", "Stop", turn_id="t1")
    assert 'turn 1  "work"' in ask(cli, "takeback", "codex")
    ask(cli, "takeback 1 files yes", "codex")
    assert (workspace / "a.txt").read_bytes() == b"0\n"
    told = tell(cli, "codex", "UserPromptSubmit", turn_id="t2", prompt="use takeback here")
    assert "decision" not in json.loads(told)


def test_while_a_turn_runs_it_only_shows(played: Cli, workspace: Path) -> None:
    tell(played, "claude", "UserPromptSubmit", prompt_id="p3", prompt="think")
    text = ask(played, "/takeback 1 yes")
    assert text.startswith("takeback: claude is working on")
    assert (workspace / "a.txt").read_bytes() == b"2\n"


def test_what_speaks_against_it_can_be_answered_inside_the_agent(
    played: Cli, workspace: Path
) -> None:
    other = {"event": "prompt", "session": "o", "agent": "other", "prompt": "me too", "turn": "1"}
    played.ok("hook", "generic", stdin=json.dumps(other).encode())
    write_files(workspace, {"theirs.txt": b"theirs\n"})
    ended = {**other, "event": "turn_end"}
    played.ok("hook", "generic", stdin=json.dumps(ended).encode())
    assert ask(played, "/takeback 2").endswith(
        "To do it all the same: /takeback 2 yes --overwrite-others"
    )
    assert "(/takeback 2 mine takes back only what its own session changed)" in ask(
        played, "/takeback 2"
    )
    assert ask(played, "/takeback 2 files mine").endswith("To do it: /takeback 2 files mine yes")
    assert ask(played, "/takeback 2 files mine yes").startswith("Rewound 1 file")
    assert (workspace / "theirs.txt").exists()
    assert ask(played, "/takeback undo yes").startswith("Undid")
    assert "exclude each other" in ask(played, "/takeback 2 mine keep-edits")
    refused = ask(played, "/takeback 2 yes")
    assert "--keep-others leaves them" in refused
    assert refused.endswith("To do it all the same: /takeback 2 yes --overwrite-others")
    assert ask(played, "/takeback 2 --keep-others").endswith(
        "To do it: /takeback 2 --keep-others yes"
    )
    assert "say opposite things" in ask(played, "/takeback 2 --keep-others --overwrite-others")
    assert ask(played, "/takeback 2 --nonsense yes").startswith("/takeback ")
    assert ask(played, "/takeback 2 yes --keep-others").startswith("Rewound 1 file")
    assert (workspace / "theirs.txt").exists()
    assert ask(played, "/takeback undo yes").startswith("Undid")
    assert ask(played, "/takeback 2 --overwrite-others yes").startswith("Rewound 2 files")
    assert not (workspace / "theirs.txt").exists()
    assert ask(played, "/takeback undo yes").startswith("Undid")


def test_a_time_moves_the_files_alone(workspace: Path) -> None:
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine")
        for number in (1, 2):
            with session.turn(f"make it {number}", conversation=b"1\n" * number):
                write_files(workspace, {"a.txt": b"%d\n" % number})
        shown = answer(tb, session.id, ["0s"], command="/takeback").text
        assert "conversation" not in shown
        assert "conversation" in answer(tb, session.id, ["2"], command="/takeback").text


LONG = "first line of what was asked, which goes on for more than sixty characters\n\nthen\x1b[2J"


@pytest.fixture
def long_prompt(workspace: Path, tmp_path: Path) -> Iterator[Engine]:
    """Three turns of an agent with a transcript; the prompt of the last has several lines."""
    transcript = tmp_path / "s1.jsonl"
    register("mine")
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        told = {"transcript": str(transcript), "resume": ("mine", "--resume", "{session}")}
        for number, prompt in enumerate(("one", "two", LONG), 1):
            session.tell("prompt", prompt=prompt, turn=f"t{number}", **told)
            with transcript.open("a") as file:
                file.write(json.dumps({"text": prompt}) + "\n")
            write_files(workspace, {"a.txt": b"%d\n" % number})
            session.tell("turn_end", turn=f"t{number}", **told)
        yield tb


def inside(tb: Engine, text: str, session: str = "mine-s1") -> list[str]:
    return answer(tb, session, text.split(), command="/takeback").text.splitlines()


def test_the_prompt_that_was_taken_back_is_printed_whole(long_prompt: Engine) -> None:
    lines = inside(long_prompt, "3 yes")
    at = lines.index("The prompt was:")
    assert lines[at + 1 : at + 4] == [f"  {LONG.splitlines()[0]}", "  ", "  then\\x1b[2J"]
    assert inside(long_prompt, "2 yes").count('The prompt was: "two"') == 1


@pytest.mark.parametrize(
    "prompt",
    ["\x1b]0;owned\x07" + "x" * 100_000, "many\n" * 50_000, "\x00\u202e\udc80" * 30_000],
    ids=["one long line", "many lines", "nothing printable"],
)
def test_a_very_long_prompt_leaves_room_for_what_comes_after_it(
    workspace: Path, prompt: str
) -> None:
    write_files(workspace, {"a.txt": b"0\n"})
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        with session.turn(prompt, conversation=b"1\n"):
            write_files(workspace, {"a.txt": b"1\n"})
        said = answer(tb, session.id, ["1", "both", "yes"], command="/takeback")
        [before] = [one.checkpoint for one in tb.checkpoints() if one.turn is not None]
    assert said.outcome is not None
    assert len(said.text) < 9_000, "agents cut an answer at 10,000 characters"
    assert all(line.isprintable() for line in said.text.split("\n"))
    *_, more, _, back = said.text.split("\n")
    assert more.startswith(f"  ... it has {len(prompt.strip()):,} characters; all of them: ")
    assert more.endswith(f"takeback show {before.id}")
    assert back == "Take it back: /takeback undo yes"


def test_the_way_back_is_what_can_be_typed_here(long_prompt: Engine) -> None:
    assert inside(long_prompt, "3 yes")[-1] == "Take it back: /takeback undo yes"
    assert inside(long_prompt, "undo yes")[-1] == "Take it back: /takeback redo yes"


def test_a_fork_is_shown_first_and_leaves_files_and_session_as_they_are(
    long_prompt: Engine, workspace: Path, tmp_path: Path
) -> None:
    old = (tmp_path / "s1.jsonl").read_bytes()
    shown = inside(long_prompt, "fork 3")
    assert shown[0].startswith("Fork the conversation from ")
    assert shown[-1] == "To do it: /takeback fork 3 yes"
    assert long_prompt.operations() == []
    done = inside(long_prompt, "fork 3 yes")
    assert done[0].startswith("Forked from ")
    [line] = [line for line in done if line.startswith("Go on with it: ")]
    assert f"cd {workspace} && mine --resume " in line
    assert not any(line.startswith("Take it back") for line in done), "nothing was taken away"
    assert (workspace / "a.txt").read_bytes() == b"3\n"
    assert (tmp_path / "s1.jsonl").read_bytes() == old


def test_a_fork_with_its_files_can_be_taken_back(long_prompt: Engine, workspace: Path) -> None:
    assert "  write a.txt  +1 -1" in inside(long_prompt, "fork 3 files")
    assert inside(long_prompt, "fork 3 --files yes")[-1] == "Take it back: /takeback undo yes"
    assert (workspace / "a.txt").read_bytes() == b"2\n"
    assert inside(long_prompt, "undo yes")[0].startswith("Undid the fork")
    assert (workspace / "a.txt").read_bytes() == b"3\n"


def test_the_end_of_a_turn_is_a_place_too(long_prompt: Engine, workspace: Path) -> None:
    assert inside(long_prompt, "2.end files yes")[0].startswith("Rewound 1 file to ")
    assert (workspace / "a.txt").read_bytes() == b"2\n"


def test_status_says_what_it_says_outside(long_prompt: Engine) -> None:
    assert any(line.startswith("◆ ") for line in inside(long_prompt, "status"))


def test_all_that_the_usage_names_can_be_typed(long_prompt: Engine) -> None:
    """Each form of the usage, without its yes, is an answer and no usage again."""
    usage = inside(long_prompt, "help")
    for line in usage:
        form = line.split("  ")[0].removeprefix("/takeback").replace("--FLAG", "--during-turn")
        looked = inside(long_prompt, form.replace("yes", "").replace("3", "2"))
        assert looked != usage, form
        assert looked
    assert long_prompt.operations() == []


def test_a_plan_that_is_cut_names_the_word_that_shows_all_of_it(
    long_prompt: Engine, workspace: Path
) -> None:
    with long_prompt.session(agent="mine", native="s1").turn("many"):
        write_files(workspace, {f"{number:03}.txt": b"x" for number in range(50)})
    assert "  +30 more (-v lists all)" in inside(long_prompt, "4 files")
    whole = inside(long_prompt, "4 files -v")
    assert sum(line.startswith("  delete ") for line in whole) == 50
    assert whole[-1].endswith("/takeback 4 files -v yes --allow-mass-delete")


def test_a_session_that_a_rewind_made_lists_its_parents_turns_too(
    long_prompt: Engine, workspace: Path
) -> None:
    tb = long_prompt
    child = tb.rewind("mine-s1/turn:3", scope="both").session
    assert child is not None
    native = child.removeprefix("mine-")
    with tb.session(agent="mine", native=native).turn("three again"):
        write_files(workspace, {"a.txt": b"3 again\n"})
    rows = inside(tb, "", child)
    expected = ("turn 3", "turn 2", "turn 1")
    assert all(name in row for name, row in zip(expected, rows, strict=False))
    assert len(rows) == 5
    assert not any("first line" in row for row in rows), "it was taken back"


def test_a_host_that_follows_is_given_the_session_and_the_person_no_line_to_type(
    long_prompt: Engine,
) -> None:
    said = answer(long_prompt, "mine-s1", ["3", "yes"], command="/takeback", follows=True)
    assert said.outcome is not None
    assert said.outcome.kind == "rewind"
    assert said.outcome.resume is not None
    assert said.outcome.resume.argv[:2] == ("mine", "--resume")
    assert "Go on with it" not in said.text
    assert said.text.endswith("Take it back: /takeback undo yes")
    looked = answer(long_prompt, "mine-s1", ["2"], command="/takeback", follows=True)
    assert looked.outcome is None


def test_a_host_with_the_prompt_in_its_editor_does_not_print_a_long_one(workspace: Path) -> None:
    write_files(workspace, {"a.txt": b"0\n"})
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        with session.turn("long " * 200, conversation=b"1\n"):
            write_files(workspace, {"a.txt": b"1\n"})
        words = ["1", "both", "yes"]
        said = answer(tb, session.id, words, command="/takeback", follows=True)
    assert said.outcome is not None
    assert said.outcome.prompt == "long " * 200
    assert "The prompt was" not in said.text


def test_an_undo_recovers_what_was_interrupted_before_it_looks_for_its_operation(
    long_prompt: Engine, workspace: Path
) -> None:
    """The interrupted one is the first there ever was: without it there is nothing to undo."""

    def killed() -> None:
        with Engine.open(workspace) as tb:
            tb.rewind("mine-s1/turn:2", scope="files")

    for at in range(20, 200, 4):
        assert run(killed, Faults(at=at)).killed
        if long_prompt.interrupted:
            break
    assert long_prompt.operations() == []
    assert "was recovered first" in inside(long_prompt, "undo yes")[0]
    assert not long_prompt.interrupted


LINES = "".join(f"line {number}\n" for number in range(1, 10))


@pytest.fixture
def text_of_three(workspace: Path) -> Iterator[Engine]:
    """Three turns on one text: line 2, line 5, line 2 again; then the person's own line 8."""
    text = workspace / "text"
    with Engine.open(workspace) as tb:
        session = tb.session(agent="mine", native="s1")
        text.write_text(LINES)
        steps = (("line 2", "two"), ("line 5", "five"), ("two", "zwei"))
        for number, (old, new) in enumerate(steps, 1):
            with session.turn(f"step {number}"):
                text.write_text(text.read_text().replace(old, new))
                write_files(workspace, {f"{number}.txt": b"new\n"})
        text.write_text(text.read_text().replace("line 8", "by me"))
        yield tb


def test_one_turn_is_reverted_and_the_later_ones_stay(
    text_of_three: Engine, workspace: Path
) -> None:
    assert inside(text_of_three, "revert 2") == [
        'Revert 2 files of turn 2 "step 2":',
        "  write text  +1 -1",
        "  delete 2.txt  +0 -1",
        "To do it: /takeback revert 2 yes",
    ]
    done = inside(text_of_three, "revert 2 yes")
    assert done == [
        'Reverted 2 files of turn 2 "step 2".',
        "Take it back: /takeback undo yes",
    ]
    assert (workspace / "text").read_text() == LINES.replace("line 2", "zwei").replace(
        "line 8", "by me"
    )
    assert not (workspace / "2.txt").exists()
    assert inside(text_of_three, "undo yes")[0] == 'Undid the revert of turn 2 "step 2" (2 files).'


def test_conflicts_are_shown_with_what_can_be_typed(text_of_three: Engine, workspace: Path) -> None:
    before = (workspace / "text").read_text()
    shown = inside(text_of_three, "revert 1")
    at = shown.index("text, line 2")
    assert shown[at:] == [
        "text, line 2",
        "  now  zwei",
        "  then line 2",
        "What to do where both changed the same:",
        "  /takeback revert 1 yes --conflicts=ours  Leave it as it is now",
        "  /takeback revert 1 yes --conflicts=theirs  Change it all the same",
        "  /takeback revert 1 yes --conflicts=markers  Write both, between conflict markers",
        "  /takeback revert 1 yes --conflicts=skip  Leave the whole file as it is",
    ]
    refused = inside(text_of_three, "revert 1 yes")
    assert refused[0] == "takeback: changed again since: text"
    assert "--conflicts=ours|theirs|markers|skip" in refused[1]
    assert "cannot be chosen" in inside(text_of_three, "revert 1 yes --conflicts=maybe")[0]
    assert (workspace / "text").read_text() == before
    assert inside(text_of_three, "revert 1 yes --conflicts=theirs")[0].startswith("Reverted")
    assert "line 2\n" in (workspace / "text").read_text()


def test_a_plan_that_takes_back_own_edits_names_the_line_that_keeps_them(
    text_of_three: Engine, workspace: Path
) -> None:
    assert "(undo brings it back; /takeback 2 files keep-edits keeps it)" in inside(
        text_of_three, "2 files"
    )
    kept = inside(text_of_three, "2 files keep-edits")
    assert kept[-1] == "To do it: /takeback 2 files keep-edits yes"
    assert "your own edits since then, kept:" in kept
    assert not any("--keep-edits" in line for line in kept)
    assert inside(text_of_three, "2 files --keep-edits yes")[0].startswith("Rewound 3 files")
    assert (workspace / "text").read_text() == LINES.replace("line 2", "two").replace(
        "line 8", "by me"
    )


@pytest.mark.parametrize(
    "words",
    [
        *("revert", "revert 1 keep-edits", "revert 1 conversation", "revert 1 --nonsense"),
        *("undo keep-edits", "undo 2", "undo files", "redo 2", "status 2"),
        *("fork", "fork 1 2", "fork 1 mine", "fork 1 --conflicts=ours"),
    ],
)
def test_what_cannot_be_meant_shows_how_it_is_called(text_of_three: Engine, words: str) -> None:
    usage = inside(text_of_three, f"{words} yes")
    assert "/takeback revert 3 yes      take back turn 3 only, and keep what came later" in usage
    assert "/takeback 3 keep-edits yes  do it, and keep what you typed yourself since" in usage
    assert text_of_three.operations() == []


def test_a_choice_about_conflicts_that_there_cannot_be_is_refused(text_of_three: Engine) -> None:
    said = inside(text_of_three, "2 files yes --conflicts=ours")
    assert said == [
        "takeback: there are no conflicts to choose about: nothing is merged",
        "to keep what you typed since: --keep-edits",
    ]
    assert text_of_three.operations() == []


def test_a_summary_is_planned_inside_and_made_outside(host: Host, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = set_summariser(host.cli.directory, tmp_path, f"cat > {seen}; echo in short")
    for word in ("ONE", "TWO"):
        host.prompt(word)
        host.end()
    with Engine.open(host.cli.directory) as tb:
        told = answer(tb, host.id, ["summarise", "2", "from", "yes"], command="/takeback").text
        wrong = answer(tb, host.id, ["summarise", "2", "off"], command="/takeback").text
    assert f"are sent to the model of: {program}" in told
    assert not seen.exists(), "no model is asked while the person waits for a prompt"
    line = told.splitlines()[-1].removeprefix("To do it, in a terminal: ")
    assert line.startswith(f"cd {host.cli.directory} && takeback summarise ")
    host.cli.ok(*line.partition(" takeback ")[2].split(), "--yes")
    assert "TWO" in seen.read_text()
    assert "'off' is no way to summarise" in wrong
