"""Finds the user's excludes file as git finds it, reading git's configuration as plain files."""

from __future__ import annotations

import os

from takeback.worktree import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


# -- matches a path against a pattern as git does in ``[includeIf]``, in bounded time
#
# ``*`` and ``?`` and brackets stop at a slash. ``**`` between slashes, or between a slash and an
# end, does not; elsewhere it is a ``*``. All places that a match can have reached are followed at
# once, so that no pattern, however hostile, takes more than its length times that of the path.


_LONGEST = 4096
_SLASH = 0x2F
_CLASSES: dict[bytes, Callable[[bytes], bool]] = {
    b"alpha": bytes.isalpha,
    b"digit": bytes.isdigit,
    b"alnum": bytes.isalnum,
    b"lower": bytes.islower,
    b"upper": bytes.isupper,
    b"space": bytes.isspace,
    b"blank": lambda c: c in b" \t",
    b"cntrl": lambda c: c < b" " or c == b"\x7f",
    b"print": lambda c: b" " <= c <= b"~",
    b"graph": lambda c: b"!" <= c <= b"~",
    b"punct": lambda c: b"!" <= c <= b"~" and not c.isalnum(),
    b"xdigit": lambda c: c in b"0123456789abcdefABCDEF",
}
_STAR, _ANYTHING, _SKIP = "*", "**", "**/"
_ANY_BYTE = frozenset(range(256)) - {_SLASH}


def matches(pattern: bytes, text: bytes, *, fold: bool = False) -> bool:
    """Tells whether the whole of ``text`` matches; ``fold``: case does not matter."""
    if len(pattern) > _LONGEST or len(text) > _LONGEST:
        return False
    if fold:
        pattern, text = pattern.lower(), text.lower()
    try:
        tokens = _tokens(pattern)
    except IndexError:  # a bracket that does not close, a backslash at the end
        return False
    places = _reached(tokens, {0})
    for byte in text:
        following = set()
        for place in places:
            token = tokens[place] if place < len(tokens) else None
            if token == _STAR:
                if byte != _SLASH:
                    following.add(place)
            elif token == _ANYTHING:
                following.add(place)
            elif isinstance(token, frozenset) and byte in token:
                following.add(place + 1)
        places = _reached(tokens, following)
    return len(tokens) in places


def _reached(tokens: list[str | frozenset[int]], places: set[int]) -> set[int]:
    """Adds the places that are reached without a further byte."""
    reached: set[int] = set()
    stack = list(places)
    while stack:
        place = stack.pop()
        if place in reached:
            continue
        reached.add(place)
        if place < len(tokens) and isinstance(tokens[place], str):
            stack.append(place + 1)
            if tokens[place] == _SKIP:  # "**/" is nothing at all, or anything and a slash
                stack.append(place + 3)
    return reached


def _tokens(pattern: bytes) -> list[str | frozenset[int]]:
    """Takes a pattern apart: wildcards, and for each other position the bytes that fit."""
    tokens: list[str | frozenset[int]] = []
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"*":
            end = at
            while pattern[end : end + 1] == b"*":
                end += 1
            bounded = end - at >= 2 and (at == 0 or pattern[at - 1 : at] == b"/")
            if bounded and end == len(pattern):
                tokens.append(_ANYTHING)
            elif bounded and pattern[end : end + 1] == b"/":
                tokens += [_SKIP, _ANYTHING, frozenset((_SLASH,))]
                end += 1
            else:
                tokens.append(_STAR)
            at = end
        elif char == b"?":
            tokens.append(_ANY_BYTE)
            at += 1
        elif char == b"[":
            fitting, at = _bracket(pattern, at + 1)
            tokens.append(fitting)
        else:
            if char == b"\\":
                at += 1
            tokens.append(frozenset((pattern[at],)))
            at += 1
    return tokens


def _bracket(pattern: bytes, at: int) -> tuple[frozenset[int], int]:
    """Returns the bytes that fit a bracket, and where it ends; raises IndexError if nowhere."""
    negated = pattern[at] in b"!^"
    at += negated
    fitting: set[int] = set()
    first = True
    while first or pattern[at] != 0x5D:
        first = False
        if pattern[at : at + 2] == b"[:" and (end := pattern.find(b":]", at)) > 0:
            member = _CLASSES.get(pattern[at + 2 : end])
            if member is None:
                raise IndexError
            fitting.update(n for n in range(256) if member(bytes((n,))))
            at = end + 2
            continue
        low, at = _member(pattern, at)
        if pattern[at] == 0x2D and pattern[at + 1] != 0x5D:
            high, at = _member(pattern, at + 1)
            fitting.update(range(low, high + 1))
        else:
            fitting.add(low)
    chosen = frozenset(range(256)) - fitting if negated else frozenset(fitting)
    return chosen - {_SLASH}, at + 1


def _member(pattern: bytes, at: int) -> tuple[int, int]:
    if pattern[at] == 0x5C:
        at += 1
    return pattern[at], at + 1


# -- finds the user's excludes file as git finds it, reading git's configuration as plain files
#
# git is never asked: in a project even ``git config`` first reads what the project says. The files
# are bounded in size, depth and number, and nothing in them is ever run.
#
#         the system's         GIT_CONFIG_SYSTEM, or etc/gitconfig; not with GIT_CONFIG_NOSYSTEM
#         the user's           GIT_CONFIG_GLOBAL, or the XDG one and ~/.gitconfig
#         the project's        .git/config
#         the work tree's      .git/config.worktree, if extensions.worktreeConfig says so
#         the environment      GIT_CONFIG_COUNT, GIT_CONFIG_KEY_<n>, GIT_CONFIG_VALUE_<n>
#
# A later one wins. Each may include others, always or under a condition.


_SPACE = b" \t\r\v\f"
_TRUE = (b"true", b"yes", b"on", b"1")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"b": b"\b"}
_INCLUDE_DEPTH = 10  # git's own limit
_CONFIG_FILES = 64  # in total: files that include each other must not multiply
_CONDITIONS = 256  # in total: each is a pattern to be matched
_INJECTED = 256
_BY_URL = b"hasconfig:remote.*.url:"


def excludes_file(
    environ: Mapping[str, str], git: project.GitDirectory | None = None
) -> bytes | None:
    """Returns the file of ignore rules that the user has for all projects, if it exists.

    It is ``core.excludesFile``; without a setting it is ``git/ignore`` in the XDG directory.
    """
    home = os.fsencode(environ.get("HOME", ""))
    xdg = os.fsencode(environ.get("XDG_CONFIG_HOME", "")) or (home and home + b"/.config")
    config = _Config(home, git)
    config.read_all(environ, xdg)
    if config.asks_for_urls:  # all remotes are known only now
        config = _Config(home, git, urls=config.urls)
        config.read_all(environ, xdg)
    path = config.settings.get(b"core.excludesfile")
    path = xdg and xdg + b"/git/ignore" if path is None else config.expanded(path)
    if path and git is not None:  # git reads a relative one from the root of the work tree
        path = os.path.join(git.root, path)
    return path if path.startswith(b"/") and os.path.isfile(path) else None


def _system_file(environ: Mapping[str, str]) -> bytes:
    """Returns the system's configuration file, whose place depends on where git was installed."""
    given = environ.get("GIT_CONFIG_SYSTEM")
    if given is not None:
        return os.fsencode(given)
    for directory in environ.get("PATH", "").split(":"):
        if directory.startswith("/") and os.path.lexists(directory + "/git"):
            beside = os.fsencode(os.path.dirname(directory)) + b"/etc/gitconfig"
            if os.path.isfile(beside):
                return beside
            break
    return b"/etc/gitconfig"


class _Config:
    """The settings of some of git's configuration files, a later one over an earlier one."""

    def __init__(
        self, home: bytes, git: project.GitDirectory | None, *, urls: list[bytes] | None = None
    ) -> None:
        self.settings: dict[bytes, bytes] = {}
        self.urls: list[bytes] = []
        self.asks_for_urls = False
        self._home = home
        self._git = git
        self._known_urls = urls or []
        self._files_left = _CONFIG_FILES
        self._conditions_left = _CONDITIONS

    def read_all(self, environ: Mapping[str, str], xdg: bytes) -> None:
        """Reads every file that git reads, in git's order."""
        if environ.get("GIT_CONFIG_NOSYSTEM", "").lower().encode() not in _TRUE:
            self.read(_system_file(environ))
        if "GIT_CONFIG_GLOBAL" in environ:
            self.read(os.fsencode(environ["GIT_CONFIG_GLOBAL"]))
        else:
            self.read(xdg and xdg + b"/git/config")
            self.read(self._home and self._home + b"/.gitconfig")
        if self._git is not None:
            self.read(self._git.common_dir + b"/config")
            if self.settings.get(b"extensions.worktreeconfig", b"").lower() in _TRUE:
                self.read(self._git.git_dir + b"/config.worktree")
        count = environ.get("GIT_CONFIG_COUNT", "")
        if count.isascii() and count.isdigit():
            for number in range(min(int(count[:9]), _INJECTED)):
                key = os.fsencode(environ.get(f"GIT_CONFIG_KEY_{number}", "")).lower()
                self.settings[key] = os.fsencode(environ.get(f"GIT_CONFIG_VALUE_{number}", ""))

    def read(self, file: bytes, depth: int = 0) -> None:
        """Adds one file and what it includes."""
        self._files_left -= 1
        if not file or depth > _INCLUDE_DEPTH or self._files_left < 0:
            return
        for key, value in _assignments(project.read_text_file(file)):
            if key.endswith(b".path") and key.startswith(b"include"):
                condition = key[10:-5] if key.startswith(b"includeif.") else None
                if condition is None or self._holds(condition, file):
                    self.read(os.path.join(os.path.dirname(file), self.expanded(value)), depth + 1)
            elif key.startswith(b"remote.") and key.endswith(b".url"):
                self.urls.append(value)
            else:
                self.settings[key] = value

    def expanded(self, path: bytes) -> bytes:
        """Replaces a leading ``~`` or ``~user``."""
        if path.startswith(b"~/") and self._home:
            return self._home + path[1:]
        return os.path.expanduser(path) if path.startswith(b"~") else path

    def _holds(self, condition: bytes, file: bytes) -> bool:
        """Tells whether a file is included; a condition that git does not know never holds."""

        self._conditions_left -= 1
        if self._conditions_left < 0:
            return False
        if condition.startswith(_BY_URL):
            self.asks_for_urls = True
            return any(matches(condition[len(_BY_URL) :], url) for url in self._known_urls)
        kind, _, pattern = condition.partition(b":")
        if self._git is None:
            return False
        if kind == b"onbranch":
            branch = project.head(self._git).branch
            return branch is not None and matches(_whole(pattern), os.fsencode(branch))
        if kind in (b"gitdir", b"gitdir/i"):
            return self._lies_in(pattern, file, fold=kind == b"gitdir/i")
        return False

    def _lies_in(self, pattern: bytes, file: bytes, *, fold: bool) -> bool:
        """Tells whether the project's git directory matches, by its real or its given path."""

        assert self._git is not None
        before = b""
        if pattern.startswith(b"~/") and self._home:
            pattern = os.path.realpath(self._home) + pattern[1:]
        elif pattern.startswith(b"~"):
            pattern = os.path.expanduser(pattern)
        if pattern.startswith(b"./"):
            before = os.path.dirname(os.path.realpath(file)) + b"/"
            pattern = pattern[2:]
        elif not pattern.startswith(b"/"):
            pattern = b"**/" + pattern
        pattern = _whole(before + pattern)[len(before) :]
        for place in (os.path.realpath(self._git.git_dir), self._git.git_dir):
            start = place[: len(before)]
            same = start.lower() == before.lower() if fold else start == before
            if same and matches(pattern, place[len(before) :], fold=fold):
                return True
        return False


def _whole(pattern: bytes) -> bytes:
    """Turns a pattern that ends in a slash into one for everything below."""
    return pattern + b"**" if pattern.endswith(b"/") else pattern


def _assignments(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields ``section.key`` or ``section.subsection.key``, and the value.

    Section and key are in lower case. Lines that make no sense are skipped.
    """
    section = b""
    position = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while position < len(data):
        stop = data.find(b"\n", position) % (len(data) + 1)  # the end of the data if there is none
        line = data[position:stop].lstrip(_SPACE)
        position = stop + 1
        if line.startswith(b"["):
            section, line = _section(line)
            line = line.lstrip(_SPACE)
        name, equals, value = line.partition(b"=")
        name = name.rstrip(_SPACE).lower()
        if not name.replace(b"-", b"").isalnum():  # a comment, an empty line, nonsense
            continue
        if equals:
            value, position = _value(data, stop - len(value))
        yield section + b"." + name, value if equals else b"true"


def _section(line: bytes) -> tuple[bytes, bytes]:
    """Returns the section that a line begins, and the rest of the line."""
    name, bracket, rest = line[1:].partition(b"]")
    if b'"' not in name:
        return (name.lower(), rest) if bracket else (b"", b"")
    name, _, line = line[1:].partition(b'"')
    inner = bytearray()
    position = 0
    while position < len(line) and line[position : position + 1] != b'"':
        if line[position : position + 1] == b"\\":
            position += 1
        inner += line[position : position + 1]
        position += 1
    rest = line[position + 1 :].lstrip(_SPACE)
    if not rest.startswith(b"]"):
        return b"", b""
    return name.strip(_SPACE).lower() + b"." + bytes(inner), rest[1:]


def _value(data: bytes, position: int) -> tuple[bytes, int]:
    """Returns the value that begins at ``position``, and where the next line begins."""
    stop = data.find(b"\n", position) % (len(data) + 1)
    line = data[position:stop]
    if not any(special in line for special in (b"\\", b'"', b"#", b";")):
        return line.strip(_SPACE), stop + 1
    value = bytearray()
    solid = 0  # up to here; unquoted blanks beyond it count only if something follows
    quoted = False
    while position < len(data):
        char = data[position : position + 1]
        position += 1
        if char == b"\n":
            break
        if not quoted and char in _SPACE:
            value += char if solid else b""
            continue
        if not quoted and char in b"#;":
            return bytes(value[:solid]), data.find(b"\n", position) % (len(data) + 1) + 1
        if char == b"\\":
            if data.startswith(b"\r\n", position):
                position += 1
            char = data[position : position + 1]
            position += 1
            value += b"" if char == b"\n" else _ESCAPES.get(char, char)
        elif char == b'"':
            quoted = not quoted
        else:
            value += char
        solid = len(value)
    return bytes(value[:solid]), position
