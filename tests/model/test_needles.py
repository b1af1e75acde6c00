"""What of a secret is looked for, and what takes its place."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.model.secret import Needles, blank, merged
from takeback.store.conversation import PIECE
from tests.support.escaped import escaped

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


@pytest.mark.parametrize(
    "quote",
    [
        rb"hunter2\/is<my&password",  # PHP
        rb"hunter2/is\u003cmy\u0026password",  # Go
        rb"hunter2/is\u003Cmy\u0026password",
        rb"hunter2\\/is\\u003cmy&password",
        rb"hunter2\\\/is\\\\u003cmy\\\\\\\\u0026password",
        rb"\u0068unter2/is<my&password",
        rb"\u005cu0068unter2/is<my&password",
    ],
)
def test_a_quote_is_found_however_a_program_escapes_it(quote: bytes) -> None:
    needles = Needles.of([b"TOKEN=hunter2/is<my&password\n"])
    assert needles.blanked(b'{"text":"' + quote + b'"}') == b'{"text":"%s"}' % (b"*" * len(quote))


@pytest.mark.parametrize(
    "content", [rb'{"key": "hunter2\/is\u003cmine"}', rb'["", "a:\"hunter2\\/is\\u003cmine\""]']
)
def test_a_secret_that_is_escaped_in_its_own_file_is_found_as_it_is_meant(content: bytes) -> None:
    assert Needles.of([content]).blanked(b"say hunter2/is<mine.") == b"say ***************."


def test_what_looks_like_the_secret_behind_a_backslash_leaves_json() -> None:
    data = json.dumps({"text": "one\nhunter2-hunter2"}).encode()
    made = Needles.of([b"nhunter2-hunter2"]).blanked(data)
    assert json.loads(made) == {"text": "one" + "*" * 17}


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        (
            "x" + "я" * 3000,
            "x" + "я" * 2000,
        ),  # as much as the first of its pieces, which ends in one
        ("x" + "я" * 3000, "я" * 2000),
        (b"\xa4hunter2-hunter2", "ähunter2-hunter2"),
        (b"hunter2-hunter2\xc3", "hunter2-hunter2ä"),
    ],
)
def test_no_half_of_a_character_is_left(secret: str | bytes, text: str) -> None:
    needles = Needles.of([secret if isinstance(secret, bytes) else secret.encode()])
    made = needles.blanked_text(f"é{text}é")
    assert len(made.encode()) == len(f"é{text}é".encode())
    assert made[0] == made[-1] == "é"
    assert ("*" in made) is needles.are_in(text.encode())
    for times in (1, 2):
        inside = json.dumps(text) if times == 1 else json.dumps(json.dumps(text))
        json.loads(needles.blanked(inside.encode()))


def test_blanks_are_no_secret() -> None:
    assert not Needles.of(
        [b'indent = "                "\ntabs: "\\t\\t\\t\\t\\t\\t\\t\\t"\n']
    ).are_in(b"                x\t\t\t\t\t\t\t\ty")


LETTERS = st.sampled_from("abcxyzABCXYZ0189_-")
ANYTHING = st.text(
    st.one_of(
        LETTERS, st.sampled_from('"\\/<&u\t éя€😀\x7f'), st.characters(exclude_categories=["C"])
    ),
    max_size=30,
)
AROUND = st.text(st.sampled_from('GHJK {}:"/<\né😀'), max_size=60)


@st.composite
def secrets(draw: st.DrawFn) -> str:
    middle = draw(ANYTHING.filter(lambda text: len(text.splitlines()) < 2))
    return f"q{draw(LETTERS)}{middle}{draw(st.text(LETTERS, min_size=10, max_size=20))}q"


def in_pieces(needles: Needles, data: bytes, random: Random) -> list[tuple[int, int]]:
    """Returns where they occur in a text that is read in pieces of any size."""
    found: list[tuple[int, int]] = []
    head, at = b"", 0
    while at < len(data):
        size = random.choice((1, 7, 40, 1000))
        spans, head = needles.look(head, data[at : at + size])
        found += [(at + start, at + end) for start, end in spans]
        at += size
    return merged(found)


@given(
    secrets(),
    AROUND,
    AROUND,
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([0, 0.05, 0.5, 1]),
    st.randoms(use_true_random=False),
)
def test_exactly_the_bytes_that_mean_the_secret_are_found(
    secret: str, before: str, after: str, times: int, own: int, numbers: float, random: Random
) -> None:
    first, quote, last = (
        escaped(text, times, random, numbers=numbers).encode()
        for text in (f"{before}X", secret, f"X{after}")
    )
    file = escaped(f'key: "{escaped(secret, 1, random)}"', own - 1, random) if own else secret
    needles = Needles.of([file.encode()])
    data = first + quote + last
    expected = [(len(first), len(first) + len(quote))]
    assert needles.spans(data) == expected
    assert in_pieces(needles, data, random) == expected
    assert needles.are_in(data)
    made = needles.blanked(data)
    for _ in range(times):
        made = json.loads(b'"' + made + b'"', strict=False).encode()
    stars = made.decode().removeprefix(f"{before}X").removesuffix(f"X{after}")
    assert set(stars) == {"*"}


@given(
    st.lists(st.sampled_from(["nsecret12u0041", "\\", "\n", "u00", "41", '"', "/", "é", " x "])),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_json_stays_json_wherever_the_letters_of_the_secret_stand(
    parts: list[str], times: int, random: Random
) -> None:
    needles = Needles.of([b"nsecret12u0041"])
    data = escaped("".join(parts), times, random, numbers=0.2).encode()
    for made in (needles.blanked(data), blank(data, in_pieces(needles, data, random))):
        assert not needles.are_in(made)
        assert len(made) == len(data)
        for _ in range(times):
            made = json.loads(b'"' + made + b'"', strict=False).encode()


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
