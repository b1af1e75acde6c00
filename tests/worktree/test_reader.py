"""Many files are read in two processes, and what one of them meets reaches the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from takeback.context import Context
from takeback.git.objects import BLOB, object_id
from takeback.store.trust import Trust
from takeback.worktree.directory import signature
from takeback.worktree.read import GONE, FileReader, FileReading, Intake, Task
from tests.support.engine import Heard, packing, packs_of


def read(context: Context, tasks: list[Task]) -> dict[bytes, tuple[bytes, bytes] | str]:
    with packing(context) as sink:
        intake = Intake(sink, size_limit=100)
        how = FileReading(context.workspace.fd, intake, Heard(), in_child=lambda: None)
        with FileReader(how) as reader:
            reader.read(tasks)
        sink.publish()
    return {os.path.join(task.directory, task.name): task.outcome for task in tasks}


def test_each_task_gets_its_outcome(workspace: Path, context: Context) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "f").write_bytes(b"content")
    (workspace / "large").write_bytes(bytes(101))
    (workspace / "link").symlink_to("d")
    os.mkfifo(workspace / "fifo")
    tasks = [
        Task(b"no such directory", b"f", 1),
        Task(b"link", b"f", 1),  # a link in the way is not followed
        Task(b"", b"large", 101),
        Task(b"", b"missing", 1),
        Task(b"d", b"f", 7),
        Task(b"", b"fifo", 0),
        Task(b"", b"link", 0),
    ]
    assert read(context, tasks) == {
        b"no such directory/f": GONE,
        b"link/f": GONE,
        b"large": "oversized",
        b"missing": GONE,
        b"d/f": (object_id(BLOB, b"content"), signature((workspace / "d" / "f").stat())),
        b"fifo": "special",
        b"link": (object_id(BLOB, b"d"), signature((workspace / "link").lstat())),
    }
    assert context.store.blob(object_id(BLOB, b"content")) == b"content"


_TWO = """
import errno, os, sys
from takeback import durable
from takeback.model.coverage import Policy
from takeback.workspaces import locate, open_store, open_workspace
from takeback.context import SilentReporter
from takeback.store.sink import PackSink
from takeback.worktree import read
from takeback.worktree.read import Intake

class Full:
    def step(self, name):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

def in_child():
    if sys.argv[2] == "dies":
        os._exit(3)
    if sys.argv[2] == "dies later":
        reader._send = lambda *_: os._exit(3)
    if sys.argv[2] == "is full":
        durable.faults = Full()
    store.lock.forget_in_child()

place = locate(os.fsencode(sys.argv[1]), os.environ, foreign_owner=False)
store = open_store(place, os.environ, SilentReporter(), create=True)
workspace = open_workspace(place)
read._WORTH_A_FORK_FILES = 2
portions = int(sys.argv[3])
tasks = [read.Task(b"", b"%d" % number, 1) for number in range(10)]
with store.locked("a test", wait=0) as locked:
    sink = PackSink(locked)
    try:
        intake = Intake(sink, size_limit=100)
        how = read.FileReading(workspace.fd, intake, SilentReporter(), in_child)
        with read.FileReader(how) as reading:
            for first in range(0, 10, 10 // portions):
                last = first + 10 // portions >= 10
                reading.read(tasks[first : first + 10 // portions], last=last)
    except Exception as error:
        sink.discard()
        print(type(error).__name__, error)
    else:
        sink.publish()
        print(*(task.outcome[0].hex() for task in tasks))
"""


def in_two_processes(workspace: Path, child: str, portions: int) -> str:
    for number in range(10):
        (workspace / str(number)).write_bytes(b"number %d" % number)
    done = subprocess.run(
        [sys.executable, "-c", _TWO, workspace, child, str(portions)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize("portions", [1, 2, 5])
def test_two_processes_read_what_one_reads_and_both_packs_are_believed(
    workspace: Path, context: Context, portions: int
) -> None:
    said = in_two_processes(workspace, "lives", portions)
    oids = [object_id(BLOB, b"number %d" % number) for number in range(10)]
    assert said.split() == [oid.hex() for oid in oids]
    assert [context.store.blob(oid) for oid in oids] == [b"number %d" % n for n in range(10)]
    packs = packs_of(context.store)
    assert len(packs) == 2
    assert all(Trust(context.store).believes(pack.stem) for pack in packs)


@pytest.mark.parametrize(
    ("child", "portions", "said"),
    [
        ("dies", 1, "WriteFailed the process that read half"),
        ("dies", 5, "WriteFailed the process that read half"),
        ("dies later", 5, "WriteFailed the process that read half"),
        ("is full", 1, "OSError [Errno 28]"),
        ("is full", 5, "OSError [Errno 28]"),
    ],
)
def test_a_second_process_that_fails_fails_the_whole_and_leaves_nothing(
    workspace: Path, context: Context, child: str, portions: int, said: str
) -> None:
    assert in_two_processes(workspace, child, portions).startswith(said)
    assert os.listdir(Path(context.store.git_dir, "objects", "pack")) == []


def test_progress_is_told_now_and_then(workspace: Path, context: Context) -> None:
    heard = Heard()
    tasks = [Task(b"", b"%d" % number, 1) for number in range(1200)]
    with packing(context) as sink:
        intake = Intake(sink, size_limit=1)
        how = FileReading(context.workspace.fd, intake, heard, in_child=lambda: None)
        with FileReader(how) as reader:
            reader.read(tasks)
    assert {what for what, _, _ in heard.steps} == {"reading files"}
    assert all(0 < done <= total == 1200 for _, done, total in heard.steps)
