"""One odd file never stops a capture: whatever the system says of it, it is named, the rest held.

The table: every error number that a file system is known to give, at every call a capture makes,
for every kind of thing it looks at. A child of the test process captures with a library loaded
that makes exactly that call fail for exactly that name.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Cli
from tests.support.failing_calls import failing, failing_calls
from tests.support.git import git
from tests.support.mounts import in_own_mounts

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs LD_PRELOAD")

ERRNOS = [
    "EACCES",
    "EPERM",
    "EIO",
    "EAGAIN",
    "ENOKEY",
    "EUCLEAN",
    "EBUSY",
    "ETIMEDOUT",
    "ENODEV",
    "ENOMEDIUM",
    "EREMOTEIO",
    "ESTALE",
    "EOVERFLOW",
    "EINVAL",
    "ELOOP",
    "ENAMETOOLONG",
    "EINTR",
    "ENXIO",
    "ENOSPC",
    "EDQUOT",
    "EROFS",
    "EMFILE",
    "ENFILE",
    "ENOMEM",
    "ENOTCONN",
    "EHOSTDOWN",
    "EBADMSG",
    "ENOTSUP",
    "ENOSYS",
    "ETXTBSY",
    "EISDIR",
    "EFBIG",
    "EPROTO",
    "EKEYREJECTED",
    "ENODATA",
    "EPIPE",
]

_TABLE = """
import ctypes, json, os, sys
from takeback.capture import capture as captures
from takeback import workspaces as opening
from takeback.model.coverage import Policy
from takeback.context import Context
from takeback.context import SilentReporter, SystemClock
from takeback.store import trees

libc = ctypes.CDLL(None)

def environ(name, value):  # os.environ's own putenv, which the library reads with getenv
    os.environ[name] = value

root = os.fsencode(os.getcwd())
place = opening.locate(root, os.environ, foreign_owner=False)
context = Context(
    workspace=opening.open_workspace(place),
    store=opening.open_store(place, os.environ, SilentReporter(), create=True),
    policy=Policy(lock_wait=5), clock=SystemClock(), reporter=SilentReporter(),
    environ=os.environ, holder="a test",
)
for line in sys.stdin:
    case = json.loads(line)
    environ("FAILING_NAME", case["name"])
    environ("FAILING_ERRNO", str(case["errno"]))
    environ("FAILING_CALL", case["call"])
    answer = dict(case)
    try:
        with context.locked() as locked:
            if case["anew"]:
                locked.lock.raise_epoch()
            made = captures.capture(locked)
            made.keep()
        answer["files"] = sorted(
            os.fsdecode(path) for path, entry in trees.walk(context.store, made.tree)
            if not entry.is_directory
        )
        answer["saved"] = sorted(map(os.fsdecode, made.saved))
        answer["gaps"] = {os.fsdecode(g.path): g.reason for g in made.coverage.skipped}
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    environ("FAILING_CALL", "none")
    print(json.dumps(answer), flush=True)
"""

KINDS = {
    "plain": ("open", "read", "lstat"),
    "link": ("readlink", "lstat"),
    "directory": ("open", "lstat", "scandir"),
    ".gitignore": ("open", "read", "lstat"),
    "saved.env": ("open", "read", "lstat"),
    "kept.txt": ("open", "read", "lstat"),
    "index": ("open", "read", "lstat"),
}
FILES = {
    "a",
    "deep/.gitignore",
    "deep/directory/in",
    "deep/ignored/kept.txt",
    "deep/link",
    "deep/plain",
    "z",
}
PLACES = {
    "plain": "deep/plain",
    "link": "deep/link",
    "directory": "deep/directory",
    ".gitignore": "deep/.gitignore",
    "saved.env": "deep/saved.env",
    "kept.txt": "deep/ignored/kept.txt",
    "index": ".git/index",
}


@pytest.fixture
def odd(workspace: Path) -> Path:
    """A workspace with one of each kind of thing that a capture looks at."""
    for name in ("deep/directory", "deep/ignored"):
        (workspace / name).mkdir(parents=True)
    for name in ("a", "z", "deep/plain", "deep/directory/in", "deep/ignored/kept.txt"):
        (workspace / name).write_text(name)
    (workspace / "deep" / "saved.env").write_text("SECRET")
    (workspace / "deep" / "link").symlink_to("plain")
    (workspace / "deep" / ".gitignore").write_text("*.env\nignored/\n")
    git(workspace, "add", "--force", "deep/ignored/kept.txt")
    return workspace


def table(workspace: Path, library: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", _TABLE],
        cwd=workspace,
        env={**os.environ, "LD_PRELOAD": library, "FAILING_CALL": "none"},
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@linux
@pytest.mark.slow
def test_whatever_the_system_says_of_one_file_it_is_named_and_the_rest_is_held(
    odd: Path, tmp_path: Path
) -> None:
    library = failing_calls(tmp_path)
    cases = [
        {"name": name, "call": call, "errno": getattr(errno, number), "anew": anew, "e": number}
        for name, calls in KINDS.items()
        for call in calls
        for number in ERRNOS
        if hasattr(errno, number)
        for anew in (True, False)
    ]
    answers = table(odd, library, cases)
    assert len(answers) == len(cases) == 20 * len(ERRNOS) * 2
    wrong = [(answer, said) for answer in answers if (said := _wrong(answer))]
    assert not wrong, (len(wrong), wrong[:5])
    named = sum(bool(answer["gaps"]) for answer in answers)
    assert named >= 0.9 * len(cases) / 2  # nothing is named where nothing was looked at again


def _wrong(answer: dict[str, Any]) -> str:
    """Says what is wrong with the answer to one case; nothing if all is as it must be."""
    if "error" in answer:
        return str(answer["error"])
    name, place = answer["name"], PLACES[answer["name"]]
    files, gaps = set(answer["files"]), answer["gaps"]
    passing = answer["e"] == "EINTR"  # the call is made again
    lost = {file for file in FILES if file == place or file.startswith(place + "/")}
    if name == "index":
        lost = {"deep/ignored/kept.txt"}
    if files != FILES and files != FILES - lost:
        return f"held {sorted(files)}"
    if files != FILES and (passing or not (gaps.keys() & {place, "deep/ignored"})):
        return "not named"
    if set(gaps) - {place}:
        return f"also named {gaps}"
    if name == "saved.env" and not gaps and answer["saved"] != [place]:
        return "neither saved nor named"
    if name not in ("index", ".gitignore") and answer["anew"] and not passing and not gaps:
        return "not named, though it was looked at"
    return ""


@linux
def test_a_file_with_a_lease_is_named_and_the_rest_is_held(workspace: Path) -> None:
    import fcntl
    import signal

    (workspace / "a").write_text("a")
    (workspace / "leased").write_text("x")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(workspace / "leased", "r+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            pytest.skip(f"no leases here: {error}")
        cli = Cli(workspace)
        made = cli.ok("--json", "checkpoint").json
        assert (made["files"], made["complete"]) == (1, False)
        assert [(gap["path"], gap["reason"]) for gap in made["skipped"]] == [
            ("leased", "unreadable")
        ]
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    signal.signal(signal.SIGIO, before)
    made = cli.ok("--json", "checkpoint").json
    assert (made["files"], made["complete"], made["skipped"]) == (2, True, [])


@linux
@pytest.mark.parametrize("number", [errno.EACCES, errno.EUCLEAN, errno.ENOSPC, errno.EMFILE])
def test_through_the_command_line_too(odd: Path, tmp_path: Path, number: int) -> None:
    library = failing_calls(tmp_path)
    cli = Cli(odd)
    cli.ok("checkpoint", "-m", "whole")
    (odd / "deep" / "plain").write_text("changed")
    (odd / "a").write_text("changed")
    sick = failing(library, "plain", "open", number)
    made = cli.ok("--json", "checkpoint", env=sick).json
    assert made["complete"] is False
    assert [(gap["path"], gap["reason"]) for gap in made["skipped"]] == [
        ("deep/plain", "unreadable")
    ]
    assert cli.run("status", env=sick).status == 0
    assert cli.run("log", env=sick).status == 0


@linux
def test_a_process_without_descriptors_makes_no_checkpoint_at_all(
    workspace: Path,
) -> None:
    """It would call every file unreadable otherwise."""
    for number in range(5):
        (workspace / f"f{number}").write_text("x")
    program = """
import os, resource, sys
from takeback import Takeback
from takeback.errors import WriteFailed
tb = Takeback.open(".")
tb.checkpoint()
for number in range(5):
    open(f"f{number}", "w").write("changed")
from takeback.worktree import read
real = read.read_all
def starved(*args):
    spare = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            spare.append(os.dup(0))
    except OSError:
        pass
    os.close(spare.pop())  # enough for the directory, not for a file in it
    try:
        return real(*args)
    finally:
        for fd in spare:
            os.close(fd)
read.read_all = starved
try:
    tb.checkpoint()
except WriteFailed as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=workspace, capture_output=True, text=True, check=False
    )
    assert "Too many open files" in done.stdout, (done.stdout, done.stderr)


# -- any stat value


@pytest.mark.parametrize("when", ["2300-01-01", "2445-01-01", "1969-12-31T12:00", "1902-01-01"])
def test_a_file_and_a_directory_from_another_century_stop_nothing(
    workspace: Path, when: str
) -> None:
    cli = Cli(workspace)
    (workspace / "d").mkdir()
    for name in ("f", "d/g"):
        (workspace / name).write_text("1")
    for name in ("f", "d/g", "d", "."):
        subprocess.run(["touch", "-d", when, workspace / name], check=True)
    first = cli.ok("--json", "checkpoint", "-m", "one").json
    assert (first["files"], first["complete"]) == (2, True)
    assert cli.ok("--json", "checkpoint").json["snapshot"] == first["snapshot"]
    (workspace / "f").write_text("2")
    subprocess.run(["touch", "-d", when, workspace / "f"], check=True)
    assert cli.ok("--json", "checkpoint").json["snapshot"] != first["snapshot"]
    assert cli.run("diff", "one").status == 0
    cli.ok("rewind", "one", "--yes", "--files")
    assert (workspace / "f").read_text() == "1"
    cli.ok("undo", "--yes")
    assert (workspace / "f").read_text() == "2"


@linux
def test_inode_numbers_of_an_overlay_stop_nothing(tmp_path: Path) -> None:
    """With xino the number of the layer stands in the highest bits."""
    script = """
    mkdir lower upper work ws second
    mount -t tmpfs none second
    mkdir second/d; echo 1 > second/d/f; echo 1 > lower/g
    mount -t overlay none -o xino=on,lowerdir=lower:second,upperdir=upper,workdir=work ws \
        2> said || { echo "skip $(cat said)"; exit 0; }
    stat -c %i ws/d/f
    cd ws
    tb --json checkpoint -m one > ../first
    tb --json checkpoint > ../again
    echo 2 > d/f
    tb --json checkpoint > ../changed
    tb rewind one --files --yes > /dev/null
    cat d/f
    """
    lines = in_own_mounts(tmp_path, script).splitlines()
    if lines[0].startswith("skip"):
        pytest.skip(f"no overlay here: {lines[0]}")
    if int(lines[0]) < 2**63:
        pytest.skip(f"the overlay gives out small numbers: {lines[0]}")
    first, again, changed = (
        json.loads((tmp_path / name).read_text()) for name in ("first", "again", "changed")
    )
    assert (first["files"], first["complete"]) == (2, True)
    assert first["snapshot"] == again["snapshot"] != changed["snapshot"]
    assert lines[1] == "1"
