"""Tombstones say what was purged to who asks for it, and tell nobody else what it was."""

from __future__ import annotations

import json

import pytest

from takeback.model.secret import Needles, Tombstones, decode

KEY = bytes(range(32))
SECRET = "hunter2-hunter2-hunter2"
NEEDLES = Needles.of([SECRET.encode()])


def stones() -> Tombstones:
    line = json.dumps({"role": "tool", "text": f"it is {SECRET}"}).encode()
    made = Tombstones(KEY).of_paths(b"a/.env").of_contents(b"\1" * 20)
    return made.of_passages(b"first\n" + line + b"\nlast\n", NEEDLES)


def test_a_path_and_a_content_are_known_again() -> None:
    known = stones()
    assert known.hides(b"a/.env")
    assert not known.hides(b".env")
    assert known.bans(b"\1" * 20)
    assert not known.bans(b"\2" * 20)


@pytest.mark.parametrize(
    "transcript",
    [
        '{"role":"tool","text":"it is SECRET"}\n',
        '[{"another":"entry","before":"it"},{"text":"it is SECRET"}]',
        'it is SECRET\nand more\n"it is SECRET"',
    ],
)
def test_the_passage_is_blanked_wherever_it_stands(transcript: str) -> None:
    made = stones().blanked(transcript.replace("SECRET", SECRET).encode())
    assert made.decode() == transcript.replace("SECRET", "*" * len(SECRET))


def test_another_passage_is_left_as_it_is() -> None:
    data = f'"it was {SECRET}"'.encode()
    assert stones().blanked(data) == data


def test_a_needle_that_has_a_quote_in_it_is_blanked_on_both_sides() -> None:
    needles = Needles.of([b'one "quoted" word'])
    data = json.dumps('say one "quoted" word').encode()
    made = Tombstones(KEY).of_passages(data, needles).blanked(data)
    assert b"quoted" not in made
    assert b"word" not in made
    assert len(made) == len(data)


def test_they_are_read_back_as_they_were_written() -> None:
    known = stones()
    assert decode(json.loads(json.dumps(known.encode()))) == known


def test_nothing_of_the_secret_is_in_them() -> None:
    kept = json.dumps(stones().encode())
    assert "hunter2" not in kept
    assert ".env" not in kept
    assert (b"\1" * 20).hex() not in kept
    other = Tombstones(bytes(32)).of_paths(b"a/.env")
    assert other.paths.isdisjoint(stones().paths)
