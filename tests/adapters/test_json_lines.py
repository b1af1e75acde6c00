"""Files of JSON lines: read whatever they hold, written as agents write them."""

from __future__ import annotations

from takeback.adapters import json_lines
from takeback.adapters.json_lines import JsonLine

DATA = b'{"a": 1}\n\nno json\n[1]\n' + b"[" * 100_000 + b'\n\xff\n{"a": "\\ud83d"}\n{"torn": 1}'


def test_whatever_a_line_holds_it_is_read_and_no_byte_is_lost() -> None:
    lines = json_lines.read(DATA, JsonLine)
    assert [line.record for line in lines] == [{"a": 1}, {}, {}, {}, {}, {}, {"a": "\ud83d"}]
    assert b"".join(line.raw for line in lines) + b'{"torn": 1}' == DATA


def test_a_last_line_without_its_end_counts_where_it_may() -> None:
    assert json_lines.read_all(DATA, JsonLine)[-1].record == {"torn": 1}
    assert json_lines.read_all(b"", JsonLine) == [JsonLine(b"\n", {})]


def test_what_is_written_is_read_back() -> None:
    record = {"text": "\u00e9 \n \ud83d", "of": [1, None]}
    data = json_lines.written(record)
    assert data.count(b"\n") == 1
    assert json_lines.read(data, JsonLine) == [JsonLine(data, record)]
