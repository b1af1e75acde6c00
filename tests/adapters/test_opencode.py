"""The opencode adapter, against what its plugin handed over (recorded/opencode/README.md)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from takeback.adapters.opencode import adapter
from takeback.adapters.opencode.connection import connection
from takeback.model import event as events
from takeback.model.checkpoint import Anchor, NewSession
from takeback.model.event import AgentEvent, ToolCall
from takeback.model.turn import Moment, follow

RECORDED = Path(__file__).parent / "recorded" / "opencode"
PROJECT = "/home/dev/project"
NOW = 1794749163.25
END = Anchor(before=False)


class Told:
    """One event: what the plugin handed over, the conversation among it."""

    def __init__(self, row: dict[str, Any], lines: list[str]) -> None:
        self.payload: dict[str, Any] = row["payload"]
        if row["lines"] is not None:
            self.payload["conversation"] = "".join(lines[number] for number in row["lines"])

    @property
    def event(self) -> AgentEvent:
        event = adapter.parse(self.payload, {})
        assert event is not None
        return event

    @property
    def parts(self) -> list[bytes]:
        assert self.event.messages is not None
        return [self.event.messages]


def told() -> list[Told]:
    lines = (RECORDED / "lines.jsonl").read_text().splitlines(keepends=True)
    rows = (RECORDED / "events.jsonl").read_text().splitlines()
    return [Told(json.loads(row), lines) for row in rows]


def at(prompt: str) -> Told:
    """Returns the event of a prompt."""
    return next(one for one in told() if one.event.prompt == prompt)


def ends() -> list[Told]:
    return [one for one in told() if one.payload["event"] == "session.idle"]


def before(prompt: str) -> bytes:
    one = at(prompt)
    return adapter.cut(one.parts, Anchor(before=True, turn=one.event.turn, prompt=prompt), ())


def said(history: bytes) -> list[str]:
    """Returns what people have said in a history, or in the document made of one."""
    found = []
    for message in messages(history):
        if message["info"]["role"] == "user":
            found += [part["text"] for part in message["parts"] if not part.get("synthetic")]
    return found


def messages(history: bytes) -> list[dict[str, Any]]:
    if not history.endswith(b"\n"):
        document = json.loads(history)
        found: list[dict[str, Any]] = document["messages"]
        return found
    return [record for record in map(json.loads, history.splitlines()) if "info" in record]


def as_new(
    history: bytes, title: str = "↶ before turn 2: TWO edit", now: float = NOW
) -> NewSession:
    return adapter.new_session(history, native="ses_old", transcript="", title=title, now=now)


# -- events


def test_a_prompt_comes_with_the_conversation_before_it() -> None:
    event = at("TWO edit").event
    assert event.kind == events.PROMPT
    assert event.agent == "opencode"
    assert event.session.startswith("ses_")
    assert event.directory == PROJECT
    assert event.turn is not None
    assert event.turn.startswith("msg_")
    assert event.process == 4711
    assert event.human
    assert not event.steer
    assert event.messages is not None
    assert said(event.messages) == ["ONE create"]


def test_a_prompt_typed_into_a_running_turn_is_a_steer() -> None:
    assert [one.event.prompt for one in told() if one.event.steer] == ["STEER now"]


def test_what_nobody_typed_is_no_part_of_a_prompt() -> None:
    payload = at("TWO edit").payload
    added = {"synthetic": True, "text": "the file reads: ..."}
    mixed = adapter.parse({**payload, "texts": [{"text": "a"}, added, {"text": "b"}]}, {})
    assert mixed is not None
    assert (mixed.prompt, mixed.human) == ("a\nb", True)
    alone = adapter.parse({**payload, "texts": [added]}, {})
    assert alone is not None
    assert (alone.prompt, alone.human) == (None, False)
    image = adapter.parse({**payload, "texts": []}, {})
    assert image is not None
    assert (image.prompt, image.human) == (None, True)


def test_tools_say_what_they_do_and_to_which_files() -> None:
    before = [one.event for one in told() if one.payload["event"] == "tool.execute.before"]
    assert {event.kind for event in before} == {events.TOOL_BEFORE}
    assert [event.tools for event in before] == [
        (ToolCall("write", events.EDIT, (f"{PROJECT}/a.txt",)),),
        (ToolCall("write", events.EDIT, (f"{PROJECT}/b.txt",)),),
        (ToolCall("edit", events.EDIT, (f"{PROJECT}/a.txt",)),),
    ]
    after = [one.event for one in told() if one.payload["event"] == "tool.execute.after"]
    assert {event.kind for event in after} == {events.ROUND_END}
    kinds = [tool.kind for event in after for tool in event.tools]
    assert kinds.count(events.SHELL) == 5
    assert kinds.count(events.SUBAGENT) == 1


def test_a_patch_names_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n*** Add File: c\n+x\n"
    payload = {**told()[1].payload, "tool": "apply_patch", "args": {"patchText": patch}}
    event = adapter.parse(payload, {})
    assert event is not None
    assert event.tools == (ToolCall("apply_patch", events.EDIT, ("a.txt", "b.txt", "c")),)


def test_a_shell_is_not_announced_before_it_runs() -> None:
    payload = {**told()[1].payload, "tool": "bash", "args": {}}
    assert adapter.parse(payload, {}) is None


def test_a_shell_says_what_it_ran_and_how_that_ended() -> None:
    payload = {**told()[3].payload, "tool": "bash", "args": {"command": "make test"}}
    for said, known in ((0, 0), (2, 2), (None, None), ("0", None)):
        event = adapter.parse({**payload, "exit": said}, {})
        assert event is not None
        assert event.tools == (ToolCall("bash", events.SHELL, (), "make test", known),)


def test_an_unknown_tool_may_change_anything() -> None:
    payload = {**told()[3].payload, "tool": "someones_mcp_tool"}
    event = adapter.parse(payload, {})
    assert event is not None
    assert event.tools == (ToolCall("someones_mcp_tool", events.OTHER),)


def test_what_a_subagent_does_belongs_to_the_session_of_the_person() -> None:
    [inner] = [one.event for one in told() if one.event.subagent]
    assert inner.session == at("SUBAGENT go").event.session
    assert inner.subagent != inner.session
    assert inner.tools == (ToolCall("bash", events.SHELL),)


def test_a_fork_says_what_it_was_made_of_and_where() -> None:
    [fork] = [one.event for one in told() if one.event.kind == events.FORKED]
    assert fork.parent == at("TWO edit").event.session
    assert fork.entry == at("TWO edit").event.turn
    assert fork.session == at("AFTER fork").event.session


def test_opencodes_own_revert_is_a_move_in_the_session() -> None:
    moves = [one.event for one in told() if one.event.kind == events.TREE]
    first = at("AFTER fork").event.session
    assert [(move.session == first, move.entry is not None) for move in moves] == [
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    ]


def test_events_of_no_concern_and_events_of_a_later_version() -> None:
    payload = at("ONE create").payload
    assert adapter.parse({**payload, "event": "session.something"}, {}) is None
    assert adapter.parse({**payload, "new": {"field": 1}}, {}) == at("ONE create").event


@pytest.mark.parametrize("name", ["event", "sessionID", "directory", "message"])
def test_a_payload_that_lacks_what_it_must_have(name: str) -> None:
    payload = {key: value for key, value in at("ONE create").payload.items() if key != name}
    with pytest.raises(ValueError, match=name):
        adapter.parse(payload, {})


def test_a_quit_in_a_running_turn_is_the_end_of_the_session() -> None:
    event = adapter.parse({**told()[1].payload, "event": "dispose"}, {})
    assert event is not None
    assert event.kind == events.SESSION_END


# -- turns


def test_each_prompt_is_a_turn_and_nothing_else_is() -> None:
    session = at("ONE create").event.session
    moments: list[Moment] = []
    for one in told():
        if one.event.session == session:
            moment = follow(moments[-1] if moments else None, one.event)
            moments += [] if moment is None else [moment]
    kinds = [moment.kind for moment in moments]
    assert kinds.count("prompt") == 7
    assert kinds.count("steer") == 1
    assert kinds.count("shell") == 1
    assert [
        one.event.prompt for one in told() if one.event.kind == events.TURN_END and one.event.prompt
    ] == ["echo shell > sh.txt"]
    assert moments[-1].turn == 7
    assert not any(moment.unfinished for moment in moments)
    # Esc ends a turn at once; the tool and a second end come after it, in the same turn.
    esc = [moment.kind for moment in moments if moment.turn == 5]
    assert esc == ["prompt", "turn end", "round", "turn end", "compaction", "turn end"]


def test_a_command_of_the_person_ends_without_a_prompt() -> None:
    commands = [one for one in ends() if one.event.turn is not None]
    [command] = commands
    assert not command.event.continues
    last = messages(command.parts[0])[-1]
    assert last["parts"][0]["tool"] == "bash"
    assert all(one.event.continues for one in ends() if one is not command and not one.event.turn)


# -- cutting


def test_the_first_turn_begins_with_an_empty_conversation() -> None:
    assert before("ONE create") == b""


def test_before_a_turn_is_all_that_was_said_until_then() -> None:
    assert said(before("TWO edit")) == ["ONE create"]
    assert said(before("THREE slow")) == ["ONE create", "TWO edit"]
    assert said(before("AFTER fork")) == ["ONE create"]


def test_kept_lines_keep_their_bytes() -> None:
    parts = at("TWO edit").parts
    assert before("TWO edit") == parts[0]


def test_a_prompt_that_is_there_already_is_left_out() -> None:
    one = at("TWO edit")
    end = next(end for end in ends() if said(end.parts[0])[-1:] == ["TWO edit"])
    history = adapter.cut(end.parts, Anchor(before=True, turn=one.event.turn), ())
    assert said(history) == ["ONE create"]


def test_the_end_of_a_turn() -> None:
    end = next(end for end in ends() if said(end.parts[0])[-1:] == ["TWO edit"])
    history = adapter.cut(end.parts, END, ())
    assert history == end.parts[0]
    assert messages(history)[-1]["parts"][1]["text"] == "Done two."


def test_a_torn_line_and_a_line_of_garbage_are_left_out() -> None:
    [data] = at("TWO edit").parts
    first, rest = data.split(b"\n", 1)
    torn = first + b"\n{garbage\n[1]\n" + rest + b'{"info":{"id":"msg_torn"'
    assert adapter.cut([torn], END, ()) == data


def test_a_conversation_without_its_session_cannot_be_cut() -> None:
    [data] = at("TWO edit").parts
    without = b"".join(line for line in data.splitlines(True) if not line.startswith(b'{"session"'))
    with pytest.raises(ValueError, match="session"):
        adapter.cut([without], END, ())


def test_what_was_reverted_in_opencode_is_not_in_the_conversation() -> None:
    moves = [one for one in told() if one.event.kind == events.TREE]
    reverted, unreverted, again, cleared = (adapter.cut(one.parts, END, ()) for one in moves)
    assert reverted == b""
    assert said(unreverted) == ["ONE create", "AFTER fork"]
    assert said(again) == said(cleared) == ["ONE create"]


def test_a_revert_may_go_to_the_middle_of_an_answer() -> None:
    [data] = at("THREE slow").parts
    *records, last = map(json.loads, data.splitlines())
    message = next(r for r in records if [p["type"] for p in r["parts"]].count("tool") == 1)
    part = next(p for p in message["parts"] if p["type"] == "tool")

    def cut(part_id: str) -> list[dict[str, Any]]:
        last["session"]["revert"] = {"messageID": message["info"]["id"], "partID": part_id}
        lines = [json.dumps(record).encode() + b"\n" for record in (*records, last)]
        return messages(adapter.cut([b"".join(lines)], END, ()))

    left = cut(part["id"])
    assert left[-1]["info"]["id"] == message["info"]["id"]
    assert [p["type"] for p in left[-1]["parts"]] == ["step-start", "text"]
    assert cut("prt_gone")[-1] == message
    assert cut(message["parts"][0]["id"])[-1] != message


def test_a_round_has_the_result_of_its_own_tool() -> None:
    done = next(one for one in told() if one.event.tools == (ToolCall("bash", events.SHELL),))
    later = ends()[1].parts
    call = done.event.leaf

    def result(history: bytes) -> str:
        [part] = [p for m in messages(history) for p in m["parts"] if p.get("callID") == call]
        return str(part["state"]["status"])

    anchor = Anchor(before=False, leaf=call)
    assert result(adapter.cut(done.parts, anchor, ())) == "running"
    assert result(adapter.cut(done.parts, anchor, later)) == "completed"
    assert len(messages(adapter.cut(done.parts, anchor, later))) == len(messages(done.parts[0]))


def test_a_round_of_two_tools_does_not_know_how_the_second_ends() -> None:
    first = next(one for one in told() if one.event.kind == events.ROUND_END)
    anchor = Anchor(before=False, leaf=first.event.leaf)
    history = adapter.cut(first.parts, anchor, ends()[0].parts)
    states = [p["state"]["status"] for p in messages(history)[-1]["parts"] if p["type"] == "tool"]
    assert states == ["completed", "running"]


def test_a_compaction_is_kept_with_what_it_stands_for() -> None:
    history = before("AFTER compact")
    [compaction] = [p for m in messages(history) for p in m["parts"] if p["type"] == "compaction"]
    assert compaction["type"] == "compaction"
    assert "ONE create" in said_before_compaction(history)


def said_before_compaction(history: bytes) -> list[str]:
    texts = [p for m in messages(history) for p in m["parts"] if p["type"] == "text"]
    return [part["text"] for part in texts]


# -- the new session


def test_a_new_session_is_what_opencode_imports() -> None:
    made = as_new(before("TWO edit"))
    document = json.loads(made.data)
    assert list(document) == ["info", "messages"]
    info = document["info"]
    assert info["id"] == made.native
    assert info["title"] == "↶ before turn 2: TWO edit"
    assert info["directory"] == PROJECT
    assert info["time"] == {"created": int(NOW * 1000), "updated": int(NOW * 1000)}
    assert not {"revert", "share", "parentID", "cost", "tokens", "permission"} & set(info)
    assert said(made.data) == ["ONE create"]


def test_every_id_is_new_and_in_the_same_order() -> None:
    history = before("AFTER compact")
    made = as_new(history).data
    old, new = ids(history), ids(made)
    assert len(old) == len(new)
    assert len(set(new)) == len(new)
    assert not set(old) & set(new)
    assert all(len(a) == len(b) for a, b in zip(old, new, strict=True))
    assert [m["info"]["id"] for m in messages(made)] == sorted(
        m["info"]["id"] for m in messages(made)
    )
    assert order(old) == order(new)
    for word in set(old) | {at("TWO edit").event.session}:
        assert word.encode() not in made


def ids(history: bytes) -> list[str]:
    found = []
    for message in messages(history):
        found += [message["info"]["id"], *(part["id"] for part in message["parts"])]
    return found


def order(names: list[str]) -> list[int]:
    return sorted(range(len(names)), key=lambda number: names[number])


def test_messages_answer_the_same_messages_as_before() -> None:
    history = before("AFTER compact")
    made = messages(as_new(history).data)
    known = {message["info"]["id"] for message in made}
    parents = [m["info"]["parentID"] for m in made if m["info"]["role"] == "assistant"]
    assert set(parents) <= known
    for message in made:
        assert {part["messageID"] for part in message["parts"]} <= {message["info"]["id"]}
        assert {part["sessionID"] for part in message["parts"]} <= {message["info"]["sessionID"]}
    tails = [p.get("tail_start_id") for m in made for p in m["parts"] if p["type"] == "compaction"]
    assert all(tail is None or tail in known for tail in tails)


def test_words_are_not_taken_for_ids() -> None:
    [data] = at("TWO edit").parts
    own = messages(data)[0]["info"]["id"]
    spoken = data.replace(b'"text":"ONE create"', b'"text":"%s"' % own.encode())
    assert said(as_new(spoken).data) == [own]


def test_two_copies_of_one_history_are_told_apart_by_their_ids_alone() -> None:
    one, other = as_new(before("TWO edit")), as_new(before("TWO edit"), now=NOW + 99)
    assert not set(ids(one.data)) & set(ids(other.data))
    assert len(one.data) == len(other.data)


def test_a_newer_session_sorts_before_an_older_one() -> None:
    names = [as_new(before("TWO edit"), now=NOW + number).native for number in range(3)]
    assert all(len(name) == len("ses_e209d8a4effevk6RG38eDczRkK") for name in names)
    assert all(older > newer for older, newer in pairwise(names))
    # opencode's own ids of that time sort among them
    assert names[0][:9] == at("ONE create").event.session[:9]


def test_a_session_that_was_made_here_can_be_cut_again() -> None:
    made = as_new(before("THREE slow"))
    again = adapter.cut([made.data], END, ())
    assert said(again) == ["ONE create", "TWO edit"]
    assert said(as_new(again).data) == ["ONE create", "TWO edit"]


def test_going_on_with_a_session() -> None:
    line = adapter.resume("ses_e209d8a4effevk6RG38eDczRkK", PROJECT)
    assert line.argv == ("opencode", "--session=ses_e209d8a4effevk6RG38eDczRkK")
    assert line.cwd == PROJECT
    assert adapter.start(PROJECT).argv == ("opencode",)


def test_only_a_session_that_was_made_here_waits_in_a_file() -> None:
    made = as_new(before("TWO edit"))
    assert made.path == ""
    assert adapter.importer.parcel(made.native) == f"{made.native}.json"
    for native in ("ses_e209d8a4effevk6RG38eDczRkK", "ses_takeback/../x", "takeback", ""):
        assert adapter.importer.parcel(native) is None


# -- connecting


def test_the_plugin_is_put_where_opencode_loads_it(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    [edit] = connection.connect(environ, "/home/dev/tb", None)
    assert edit.path == str(tmp_path / ".config/opencode/plugins/takeback.js")
    assert edit.before is None
    assert b'const LAUNCHER = "/home/dev/tb/bin/hook"' in (edit.after or b"")
    [moved] = connection.connect(
        {**environ, "XDG_CONFIG_HOME": "/home/dev/c"}, "/home/dev/tb", None
    )
    assert moved.path == "/home/dev/c/opencode/plugins/takeback.js"
    [here] = connection.connect(environ, "/home/dev/tb", PROJECT)
    assert here.path == f"{PROJECT}/.opencode/plugins/takeback.js"


def test_only_our_own_plugin_is_taken_away(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    path = tmp_path / ".config/opencode/plugins/takeback.js"
    [nothing] = connection.disconnect(environ, "/home/dev/tb", None)
    assert not nothing.changes
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({})\n")
    assert not connection.is_connected(environ, "/home/dev/tb", None)
    [theirs] = connection.disconnect(environ, "/home/dev/tb", None)
    assert not theirs.changes
    path.write_bytes(connection.plugin_for("/home/dev/tb"))
    assert connection.is_connected(environ, "/home/dev/tb", None)
    [ours] = connection.disconnect(environ, "/home/dev/tb", None)
    assert (ours.before, ours.after) == (connection.plugin_for("/home/dev/tb"), None)
    [again] = connection.connect(environ, "/home/dev/tb", None)
    assert not again.changes


def test_a_plugin_that_starts_another_takeback_is_not_ours_to_count_on(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    path = tmp_path / ".config/opencode/plugins/takeback.js"
    path.parent.mkdir(parents=True)
    path.write_bytes(connection.plugin_for("/home/dev/another"))
    assert not connection.is_connected(environ, "/home/dev/tb", None)
