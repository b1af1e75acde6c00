"""Texts that somebody who means harm would use as an id, a name, a label or a prompt."""

from __future__ import annotations

STEERING = (
    "\x1b]0;PWN\x07",
    "\x1b[2J\x1b[H",
    "\x9b2J",
    "\x1b[8mhidden\x1b[0m",
    "\x1bP+q544e\x1b\\",
    "\x1b]52;c;UFdO\x07",
    "\x1b]8;;http://x\x1b\\link",
    "over\rwritten",
    "two\nlines",
    "back\b\b\b\bspace",
    "delete\x7f",
    "nul\x00byte",
    "tab\tstop",
    "vertical\x0b\x0c",
    "next\x85line",
    "\u2028separated\u2029",
    "\u202egnp.exe",
    "\u2066isolated\u2069",
    "\u200fmark\u061c",
    "\ufeffbom",
    "zero\u200bwidth",
    "soft\u00adhyphen",
    "tag\U000e0041",
    "private\ue000",
    "bytes\udcff\udc80",
    "half\ud800",
)
"""What a terminal, or a reader of lines, would obey or not show."""

RUNNING = (
    "$(touch PWNED)",
    "`touch PWNED`",
    ";touch PWNED;",
    "&& touch PWNED",
    "| touch PWNED",
    "x' ; touch PWNED ; '",
    'x" ; touch PWNED ; "',
    "ses_takeback;touch${IFS}PWNED;",
    "--dangerously-skip-permissions",
    "-rf",
    "-c",
    "%s%n",
    "{session}",
)
"""What a shell or a program would take for more than a word."""

LEADING = (
    "..",
    ".",
    "/",
    "a/b",
    "../../escaped",
    "/etc/passwd",
    ".git",
    "x.lock",
    "refs/heads/main",
    "HEAD",
    "~",
    "con",
)
"""What a path or a ref would be made of."""

CONFUSING = (
    "",
    " ",
    ":",
    "2026-11-15T10:00:00",
    "@",
    "@~1",
    "turn:1",
    "*",
    "[bold red]x[/]",
    "[@click=app.quit]x[/]",
    "<script>",
    '{"decision": "block"}',
    "Error: nothing",
    "a" * 10_000,
    "ß" * 3_000,
    "e\u0301" * 200,
    "日本語",
)
"""What takeback's own names, marks and words look like, and what is long."""

HOSTILE = (*STEERING, *RUNNING, *LEADING, *CONFUSING)


def raw(text: str) -> str:
    """Returns the characters of a text that no terminal should be given, but line ends."""
    return "".join(sorted({c for c in text if not c.isprintable() and c not in "\n\r\t"}))
