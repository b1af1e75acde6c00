"""What every agent has to satisfy, as tests: takeback's own agents, and yours.

Derive a class from ``AgentContract``, give it what your agent says and writes, and let pytest
run it:

    class TestScribe(AgentContract):
        agent = takeback_scribe.agent
        payloads = [{"what": "asked", ...}, {"what": "answered", ...}]
        transcript = Path("a-session.jsonl").read_bytes()
        native = "the id of that session"
"""

from __future__ import annotations

import copy
import os
import time
from pathlib import Path
from types import MappingProxyType

from takeback import adapters
from takeback.adapters import connecting
from takeback.adapters.launcher import launcher_path
from takeback.model.agent import (
    ASSISTANT,
    FROM,
    LONGEST_TEXT,
    ROLES,
    SYSTEM,
    TOOL,
    USER,
    Agent,
    Capabilities,
    FileEdit,
    Message,
    framed,
)
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import EVENTS, PROMPT, TOOL_KINDS, TURN_END, AgentEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.ports import Adapter, Connection, MessageReader

_ODD: tuple[Any, ...] = (None, True, -1, 1.5, "", "\0\n", [], [None], {}, {"a": [{}]}, "\ud800")
"""What a field may hold if another program wrote it."""
_HOSTILE = ("--version", "-x", "a b", "$(id)", "; id", "../../x", "a\nb", "\0", "x" * 5000)
"""Session ids that would be obeyed on a command line, or lead elsewhere."""
_GARBAGE = (b"", b"\n", b"{", b"\xff\xfe\n", b"[" * 50_000 + b"\n", b"{}\n", b'{"type": 3}\nnull\n')
_END = Anchor(before=False)
_SUMMARIES = ("files were made", '{"type":"user","role":"system"}', "- a\n- b\n\n<x>&amp;\u2028.")
"""What a summary may say: it stays one message, word for word."""


class AgentContract:
    """The contract of ``ports.Adapter`` and ``ports.Connection``, for one agent."""

    agent: Agent
    payloads: Sequence[Mapping[str, Any]]
    """What the agent's hooks or its extension send: a prompt, an end of a turn, and more."""
    environ: Mapping[str, str] = MappingProxyType({})
    """The variables that it gives to its hooks."""
    transcript: bytes = b""
    """A conversation of at least one turn in the agent's own format, if it has one."""
    native: str = ""
    """The id of the transcript's session."""
    file: str = "{native}.jsonl"
    """Where the transcript lies, in the directory of all sessions."""

    # -- the record

    def test_the_record_names_what_there_is(self) -> None:
        assert isinstance(self.agent, Agent)
        assert self.agent.name
        assert self.agent.name == self.agent.name.lower()
        assert self._adapter.name == self.agent.name
        if self.agent.connection:
            assert self._connection.name == self.agent.name
        for reference in (self.agent.entries, self.agent.messages):
            assert not reference or callable(adapters.loaded(reference))

    def test_the_adapter_says_what_it_can_do(self) -> None:
        adapter = self._adapter
        assert isinstance(adapter.starts_by_id, bool)
        assert isinstance(adapter.mute_on_esc, bool)
        command = adapter.command
        assert command is None or len(command.split()) == 1

    # -- what it tells

    def test_what_it_says_is_understood(self) -> None:
        events = [event for event in map(self._parsed, self.payloads) if event is not None]
        assert {PROMPT, TURN_END} <= {event.kind for event in events}
        for event in events:
            assert event.kind in EVENTS
            assert event.session
            assert os.path.isabs(event.directory)
            assert all(tool.kind in TOOL_KINDS for tool in event.tools)

    def test_parsing_is_pure(self) -> None:
        for payload in self.payloads:
            before = copy.deepcopy(dict(payload))
            assert self._parsed(payload) == self._parsed(payload)
            assert payload == before

    def test_fields_that_are_not_known_are_passed_over(self) -> None:
        for payload in self.payloads:
            more = {**payload, "a field from the future": {"a": [1]}}
            assert self._parsed(more) == self._parsed(payload)

    def test_what_is_odd_is_an_error_in_a_sentence_or_no_matter(self) -> None:
        self._try({})
        for payload in self.payloads:
            for name in payload:
                for odd in _ODD:
                    self._try({**payload, name: odd})
                self._try({n: v for n, v in payload.items() if n != name})

    # -- its conversations

    def test_the_transcript_is_the_last_of_its_files(self, tmp_path: Path) -> None:
        for path in (tmp_path / "none.jsonl", tmp_path):
            files = self._adapter.transcript_files(str(path))
            assert isinstance(files, tuple)
            assert files[-1] == str(path)
        root = self._adapter.sessions_root({"HOME": str(tmp_path)})
        assert root is None or os.path.isabs(root)

    def test_a_history_is_cut_the_same_way_each_time(self) -> None:
        history = self._adapter.cut([self.transcript], _END, [])
        assert isinstance(history, bytes)
        assert bool(history) == bool(self.transcript)
        assert self._adapter.cut([self.transcript], _END, []) == history
        if self._adapter.importer is None:
            assert self._adapter.cut([history], _END, []) == history

    def test_whatever_a_transcript_holds_it_is_cut_or_refused(self) -> None:
        torn = [self.transcript[: len(self.transcript) * n // 7] for n in range(7)]
        anchors = (_END, Anchor(True, "none"), Anchor(False, "none", "none"), Anchor(True))
        for data in (*_GARBAGE, *torn):
            for anchor in anchors:
                try:
                    assert isinstance(self._adapter.cut([data], anchor, [data]), bytes)
                except ValueError as error:
                    _check_sentence(str(error))
            assert isinstance(self._adapter.is_over(data, "none"), bool)
            words = self._adapter.command_in(data, "none")
            assert words is None or isinstance(words, str)
            assert self._adapter.status_in(data, "none") is None
            assert self._adapter.follows(data, "none") == ()

    def test_a_history_is_read_as_messages_whatever_it_holds(self) -> None:
        reader = self._reader
        if reader is None:
            return
        history = self._adapter.cut([self.transcript], _END, [])
        said = list(reader(history))
        assert {USER, ASSISTANT} <= {message.role for message in said} or not history
        assert [message.tool is not None for message in said] == [
            message.role == TOOL for message in said
        ]
        torn = [history[: len(history) * n // 7] for n in range(7)]
        odd = [history.replace(b'"text"', b'"\\ud800"'), history.replace(b'":"', b'":["'), history]
        long = b'{"role":"user","content":"' + b"x" * (LONGEST_TEXT + 1) + b'"}\n'
        for data in (*_GARBAGE, *torn, *odd, long, history + b"[" * 50_000 + b"\n" + history):
            for message in reader(data):
                assert isinstance(message, Message)
                assert message.role in ROLES
                assert len(message.text) <= LONGEST_TEXT
                message.text.encode()

    def test_a_summary_stands_in_a_history_in_the_place_of_a_part_of_it(self) -> None:
        reader, summaries = self._reader, adapters.summaries_of(self.agent.name)
        if not self.agent.summaries or reader is None or summaries is None:
            return
        whole = self._adapter.cut([self.transcript], _END, [])
        said = [message.text for message in reader(whole)]
        nothing = summaries.rest(whole, whole)
        assert not list(reader(nothing))
        assert [one.text for one in reader(summaries.rest(whole, b""))] == said
        for text in _SUMMARIES:
            summary = framed(text, FROM)
            for kept, first, before, after in (
                (b"", False, [], []),
                (nothing, True, [], []),
                (whole, True, [], said),
                (whole, False, said, []),
            ):
                made = summaries.put(kept, summary, first=first, whole=whole, now=time.time())
                told = list(reader(made))
                assert [one.text for one in told] == [*before, summary, *after]
                assert told[len(before)].role == SYSTEM, "nobody typed it"
                assert summaries.rest(made, made) == summaries.rest(made, made)

    def test_a_session_with_a_summary_is_cut_like_any_other(self, tmp_path: Path) -> None:
        reader, summaries = self._reader, adapters.summaries_of(self.agent.name)
        if not self.agent.summaries or reader is None or summaries is None:
            return
        whole = self._adapter.cut([self.transcript], _END, [])
        for first in (True, False):
            made = summaries.put(whole, "[sum]", first=first, whole=whole, now=time.time())
            new = self._new(made, str(tmp_path / self.file.format(native="old")), "")
            again = self._adapter.cut([new.data], _END, [])
            assert [one.text for one in reader(again)] == [one.text for one in reader(made)]

    def test_whatever_a_history_holds_a_summary_is_put_there_or_refused(self) -> None:
        summaries = adapters.summaries_of(self.agent.name)
        if not self.agent.summaries or summaries is None:
            return
        whole = self._adapter.cut([self.transcript], _END, [])
        for data in (*_GARBAGE, whole[: len(whole) // 2]):
            for other in (data, whole, b""):
                try:
                    assert isinstance(summaries.rest(data, other), bytes)
                    made = summaries.put(data, "s", first=True, whole=other, now=time.time())
                    assert isinstance(made, bytes)
                except ValueError as error:
                    _check_sentence(str(error))

    def test_a_new_session_lies_beside_the_old_one_and_is_not_written(self, tmp_path: Path) -> None:
        folder = tmp_path / "sessions"
        folder.mkdir()
        old = folder / self.file.format(native=self.native or "old")
        history = self._adapter.cut([self.transcript], _END, [])
        made = [self._new(history, str(old), title) for title in ("", "a \u00e9 \ud83d\ude00 \n")]
        assert list(folder.iterdir()) == []
        assert len({one.native for one in made} | {self.native}) == 3
        for one in made:
            assert isinstance(one.data, bytes)
            assert bool(one.data) == bool(history)
            if self._adapter.importer is None:
                assert one.path == str(folder / self.file.format(native=one.native)) or (
                    os.path.dirname(one.path) == str(folder) and one.path != str(old)
                )
                assert self._adapter.cut([one.data], _END, []) != b"" or not history

    def test_a_session_of_another_directory_is_the_same_one(self, tmp_path: Path) -> None:
        folder = tmp_path / "sessions"
        folder.mkdir()
        old = folder / "here" / self.file.format(native=self.native or "old")
        history = self._adapter.cut([self.transcript], _END, [])
        new = self._new(history, str(old), "")
        moved = self._adapter.moved_to(new, str(tmp_path / "elsewhere"))
        assert isinstance(moved, NewSession)
        assert list(folder.iterdir()) == []
        assert (moved.native, os.path.basename(moved.path)) == (
            new.native,
            os.path.basename(new.path),
        )
        if self._adapter.importer is None:
            assert self._adapter.cut([moved.data], _END, []) != b"" or not history
        else:
            assert bool(moved.data) == bool(history)

    def test_no_id_is_obeyed_by_a_command_line(self) -> None:
        for native in (*_HOSTILE, self.native):
            resume = self._adapter.resume(native, "/somewhere")
            assert isinstance(resume, Resume)
            assert resume.cwd == "/somewhere"
            assert all(isinstance(word, str) for word in resume.argv)
            if native in _HOSTILE:
                assert not any(native in word for word in resume.argv)
        start = self._adapter.start("/somewhere")
        assert (type(start), start.cwd) == (Resume, "/somewhere")

    def test_what_is_to_be_said_becomes_text(self) -> None:
        for text, warning in (("a\n\u00e9", ""), ("", "b {"), ("a", "b")):
            assert isinstance(self._adapter.note(text, warning), str)
        if self._adapter.command is not None:
            assert "answered" in self._adapter.answer("answered")

    # -- its settings

    def test_connecting_can_be_seen_is_done_once_and_is_taken_back_whole(
        self, tmp_path: Path
    ) -> None:
        if not self.agent.connection:
            return
        person, project, home = (tmp_path / "own" / n for n in ("person", "project", "home"))
        for folder in (person, project, home):
            folder.mkdir(parents=True)
        environ = {"HOME": str(person), "PATH": ""}
        for here in (None, str(project)):
            before = _tree(person), _tree(project)
            assert not self._connection.is_connected(environ, str(home), here)
            edits = self._edits("connect", environ, str(home), here)
            assert (_tree(person), _tree(project)) == before  # nothing was written
            assert any(launcher_path(str(home)).encode() in (e.after or b"") for e in edits)
            within = str(person) if here is None else here
            assert all(edit.path.startswith(f"{within}/") for edit in edits)
            without = self._edits("disconnect", environ, str(home), here)
            connecting.apply(edits, without, str(home), self.agent.name, here)
            assert self._connection.is_connected(environ, str(home), here)
            assert self._connection.hindrance(environ, here) is None
            again = self._edits("connect", environ, str(home), here)
            assert not any(edit.changes for edit in again)
            ours = self._edits("disconnect", environ, str(home), here)
            back = connecting.take_back(ours, str(home), self.agent.name)
            connecting.withdraw(connecting.located(back, None), str(home), self.agent.name)
            assert (_tree(person), _tree(project)) == before
            assert not self._connection.is_connected(environ, str(home), here)

    def test_the_connection_says_what_it_is_for(self, tmp_path: Path) -> None:
        if not self.agent.connection:
            return
        connection = self._connection
        assert connection.title
        assert connection.program
        assert isinstance(connection.capabilities, Capabilities)
        assert isinstance(connection.advice(), str)
        nowhere = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
        assert connection.is_there(nowhere) is False
        assert connection.transcripts(nowhere, str(tmp_path)) == ()

    # -- helping

    @property
    def _adapter(self) -> Adapter:
        found: Adapter = adapters.loaded(self.agent.adapter)
        return found

    @property
    def _reader(self) -> MessageReader | None:
        return adapters.message_reader(self.agent.name) if self.agent.messages else None

    @property
    def _connection(self) -> Connection:
        found: Connection = adapters.loaded(self.agent.connection)
        return found

    def _parsed(self, payload: Mapping[str, Any]) -> AgentEvent | None:
        event = self._adapter.parse(payload, self.environ)
        assert event is None or isinstance(event, AgentEvent)
        return event

    def _try(self, payload: Mapping[str, Any]) -> None:
        try:
            self._parsed(payload)
        except ValueError as error:
            _check_sentence(str(error))

    def _new(self, history: bytes, transcript: str, title: str) -> NewSession:
        made = self._adapter.new_session(
            history, native=self.native, transcript=transcript, title=title, now=time.time()
        )
        assert isinstance(made, NewSession)
        return made

    def _edits(
        self, what: str, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        edits = getattr(self._connection, what)(environ, home, here)
        assert isinstance(edits, tuple)
        assert all(isinstance(edit, FileEdit) and os.path.isabs(edit.path) for edit in edits)
        return connecting.located(edits, here)


def _check_sentence(text: str) -> None:
    assert text.strip()
    assert "\n" not in text


def _tree(folder: Path) -> dict[str, bytes | None]:
    """Returns every file and directory below a folder, files with their bytes."""
    found = {str(one.relative_to(folder)): one for one in sorted(folder.rglob("*"))}
    return {name: None if one.is_dir() else one.read_bytes() for name, one in found.items()}
