"""What of a secret is looked for, and what takes its place."""

from __future__ import annotations

import json

import pytest

from takeback.model.needles import Needles, blank
from takeback.store.conversation import PIECE

FOUND_IN = [
    # the secret, a text that quotes it, the same without it
    (b"TOKEN=abcdef123456\n", b"export TOKEN=abcdef123456;", b"export ******************;"),
    (b"TOKEN=abcdef123456\n", b"use abcdef123456 here", b"use ************ here"),
    (b"pass: 'swordfish9'\n", b"swordfish9!", b"**********!"),
    (b'{"key": "k-12345678"}', b'{"other": "k-12345678"}', b'{"other": "**********"}'),
    (b"shorttok", b"a shorttok b", b"a ******** b"),
    (b"PIN=1\nX=2\n", b"PIN=1 X=2", b"PIN=1 X=2"),
    (b'{"a":"first-one","b":"second-one"}', b"x second-one", b"x **********"),
    (b'{"key":"-----BEGIN KEY-----\\nMIIEvQIBADAN\\n"}', b"\nMIIEvQIBADAN", b"\n************"),
    (b"a\nb\n\n", b"a\nb\n\n", b"a\nb\n\n"),
    (b"-----BEGIN KEY-----\nMIIEvQIBADAN\n", b"-----BEGIN KEY-----", b"-----BEGIN KEY-----"),
    (b"-----BEGIN KEY-----\nMIIEvQIBADAN\n", b"MIIEvQIBADAN", b"************"),
    (b"\0binary and long", b"binary and long", b"binary and long"),
    (b"k=aaaaaaaa\nk=aaaabbbb\n", b"aaaaaaaabbbb", b"************"),
]


@pytest.mark.parametrize(("secret", "text", "blanked"), FOUND_IN)
def test_a_quote_becomes_as_many_stars(secret: bytes, text: bytes, blanked: bytes) -> None:
    assert Needles.of([secret]).blanked(text) == blanked


@pytest.mark.parametrize("secret", ['say "friend" \\ enter', "naïve pässwörd", "tab\there it is"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_quote_inside_json_is_found_and_leaves_json(secret: str, ascii_only: bool) -> None:
    needles = Needles.of([secret.encode() + b"\n"])
    inner = json.dumps({"text": f"it was {secret}."}, ensure_ascii=ascii_only)
    for line in (inner, json.dumps({"arguments": inner}, ensure_ascii=ascii_only)):
        made = needles.blanked(line.encode())
        assert len(made) == len(line.encode())
        told = json.loads(made)
        told = json.loads(told["arguments"]) if "arguments" in told else told
        assert set(told["text"].removeprefix("it was ").removesuffix(".")) == {"*"}


def test_no_needle_is_longer_than_a_piece_of_a_conversation() -> None:
    assert 0 < Needles.of([bytes(range(1, 32)) * 900 + "é\\".encode() * 9000]).longest < PIECE


def test_a_long_line_is_looked_for_in_pieces() -> None:
    line = b"".join(b"%05d" % number for number in range(2000))
    assert set(Needles.of([line]).blanked(b"<" + line + b">")[1:-1]) == {ord("*")}


def test_too_many_texts_are_cut_and_it_says_so() -> None:
    many = b"".join(b"KEY%d=value-%08d\n" % (n, n) for n in range(2000))
    needles = Needles.of([many])
    assert needles.cut
    assert needles.are_in(b"value-00000000")
    assert not Needles.of([b"KEY=value-1234"]).cut


def test_a_text_keeps_what_is_no_character() -> None:
    needles = Needles.of([b"0123456789abcdef"])
    assert needles.blanked_text("\udc80 0123456789abcdef") == "\udc80 " + "*" * 16
    assert needles.blanked_text("nothing \ud800 here") == "nothing \ud800 here"


def test_blanking_beyond_the_end_changes_no_length() -> None:
    assert blank(b"abcdef", [(4, 9)]) == b"abcd**"
