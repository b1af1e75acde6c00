"""The only code that starts git, and only on our own store but for one linked worktree."""

from __future__ import annotations

import os
import time

from takeback import durable, errors, programs
from takeback.errors import Command, GitFailed, StoreDamaged
from takeback.model.value import Value
from takeback.ordinary import all_names, ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence


# -- one running git and the pipes to it
#
# ``subprocess`` would cost the hook path 10 ms to import, more than git takes to answer.


# the module `signal` imports enum; these two numbers are the same on Linux and macOS
_SIGKILL = 9
_SIGPIPE = 13
_PIECE = 1 << 16
_KEPT_STDERR = 1 << 20


class ProcessResult(Value):
    """How a git process ended; ``status`` is negative if a signal ended it."""

    status: int
    stdout: bytes
    stderr: bytes


class GitProcess:
    """One running git with pipes to all three of its streams.

    Its pipes never block us: its output is read while its input is being written, so neither side
    can wait for the other.
    """

    def __init__(self, argv: list[str], env: Mapping[str, str], args: tuple[str, ...]) -> None:
        self._args = args
        self._status: int | None = None
        self._unread = bytearray()
        self._stderr = bytearray()
        pipes = _pipes(3)
        (child_in, self._stdin), (self._stdout, child_out), (self._errors, child_err) = pipes
        try:
            self._pid = os.posix_spawn(
                argv[0],
                argv,
                env,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, child_in, 0),
                    (os.POSIX_SPAWN_DUP2, child_out, 1),
                    (os.POSIX_SPAWN_DUP2, child_err, 2),
                ],
                setpgroup=0,
                setsigmask=(),
                setsigdef=(_SIGPIPE,),  # Python ignores it, and children inherit that
            )
        except OSError as error:
            for fd in (self._stdin, self._stdout, self._errors):
                os.close(fd)
            raise errors.GitUnusable(
                f"{argv[0]} does not start: {error.strerror}", hint=("run: ", Command("doctor"))
            ) from error
        finally:
            for fd in (child_in, child_out, child_err):
                os.close(fd)
        for fd in (self._stdin, self._stdout, self._errors):
            os.set_blocking(fd, False)

    def ask(
        self, data: bytes, done: Callable[[bytearray], bool], *, timeout: float = 60.0
    ) -> bytes:
        """Writes ``data`` and returns git's answer once ``done`` says it is complete.

        ``done`` is called with the answer so far each time it has grown. Raises GitFailed if git
        ends before that, TimedOut (and ends git) if it takes longer.
        """
        deadline = time.monotonic() + timeout
        if not self._exchange(memoryview(data), deadline, done):
            status = self._wait(deadline)
            raise errors.GitFailed(self._args, status, last_line(self._stderr))
        answer = bytes(self._unread)
        self._unread.clear()
        return answer

    def finish(self, stdin: bytes = b"", *, timeout: float = 60.0) -> ProcessResult:
        """Writes the last input, closes stdin and waits for git to end."""
        deadline = time.monotonic() + timeout
        self._exchange(memoryview(stdin), deadline, None)
        status = self._wait(deadline)
        return ProcessResult(status, bytes(self._unread), bytes(self._stderr))

    def close(self) -> None:
        """Ends git with all its children if it is still running, and releases everything."""
        if self._status is None:
            self._kill()
        for name in ("_stdin", "_stdout", "_errors"):
            self._close(name)

    def _close(self, name: str) -> None:
        fd = getattr(self, name)
        if fd >= 0:
            os.close(fd)
            setattr(self, name, -1)

    def _exchange(
        self, data: memoryview, deadline: float, done: Callable[[bytearray], bool] | None
    ) -> bool:
        """Writes and reads; returns True once ``done`` is satisfied, False if git's output ended.

        Without ``done``, stdin is closed after ``data`` and everything is read to its end.
        """
        while True:
            if not data:
                if done is None:
                    self._close("_stdin")
                elif self._unread and done(self._unread):
                    return True
            if self._stdout < 0 and (self._errors < 0 or done is not None):
                return False
            for fd in self._ready(deadline, writing=bool(data)):
                if fd == self._stdin:
                    data = self._write(data)
                elif fd == self._stdout:
                    self._read_answer()
                else:
                    self._read_errors()

    def _ready(self, deadline: float, *, writing: bool) -> list[int]:
        """Waits until a pipe can be used and returns which."""
        import select  # no hook runs git

        poll = select.poll()
        if writing:
            poll.register(self._stdin, select.POLLOUT)
        for fd in (self._stdout, self._errors):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        left = deadline - time.monotonic()
        ready = poll.poll(left * 1000) if left > 0 else []
        if not ready:
            self._time_out()
        return [fd for fd, _ in ready]

    def _write(self, data: memoryview) -> memoryview:
        try:
            return data[os.write(self._stdin, data) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:  # git does not want more; its status will say why
            self._close("_stdin")
            return data[len(data) :]

    def _read_answer(self) -> None:
        piece = _read(self._stdout)
        if piece:
            self._unread += piece
        elif piece is not None:
            self._close("_stdout")

    def _read_errors(self) -> None:
        piece = _read(self._errors)
        if piece:
            self._stderr += piece
            del self._stderr[:-_KEPT_STDERR]
        elif piece is not None:
            self._close("_errors")

    def _wait(self, deadline: float) -> int:
        """Returns the status of git, whose output has ended."""
        pause = 0.0001
        while self._status is None:
            pid, status = self._reap(os.WNOHANG)
            if pid:
                self._status = status
            elif time.monotonic() > deadline:
                self._time_out()
            else:
                time.sleep(pause)
                pause = min(pause * 2, 0.01)
        return self._status

    def _reap(self, flags: int) -> tuple[int, int]:
        try:
            pid, status = os.waitpid(self._pid, flags)
        except ChildProcessError as error:  # the host program ignores SIGCHLD
            self._status = -1
            raise errors.GitFailed(self._args, -1, "its status was lost") from error
        return pid, os.waitstatus_to_exitcode(status) if pid else 0

    def _kill(self) -> None:
        try:
            os.killpg(self._pid, _SIGKILL)
        except (ProcessLookupError, PermissionError):  # macOS: EPERM for a zombie
            pass
        try:
            self._status = self._reap(0)[1]
        except errors.GitFailed:
            self._status = -1

    def _time_out(self) -> None:
        self.close()
        raise errors.TimedOut(f"git {' '.join(self._args)} took too long and was ended")


def _pipes(count: int) -> list[tuple[int, int]]:
    """Returns ``count`` pipes, or closes those it has made if no more can be had."""
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            pipes.append(_pipe())
    except OSError as error:
        for pipe in pipes:
            os.close(pipe[0])
            os.close(pipe[1])
        raise errors.GitUnusable(f"git does not start: {error.strerror}") from error
    return pipes


def _pipe() -> tuple[int, int]:
    """Returns a pipe whose ends are not 0, 1 or 2, even if the host program closed those."""
    low = []
    reader, writer = os.pipe()
    while reader < 3:
        low.append(reader)
        reader = os.dup(reader)
    while writer < 3:
        low.append(writer)
        writer = os.dup(writer)
    for fd in low:
        os.close(fd)
    return reader, writer


def _read(fd: int) -> bytes | None:
    """Returns what a pipe holds, b"" at its end, None if there is nothing at the moment."""
    try:
        return os.read(fd, _PIECE)
    except BlockingIOError:
        return None


def last_line(text: bytes | bytearray) -> str:
    """Returns the last line that git printed, which is where it names the failure."""
    lines = bytes(text).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


# -- the only code that starts git, and only on our own store
#
# git gets an environment made from scratch (no inherited ``GIT_*``, no system or global
# configuration, no hooks, no prompts, no network) and a process group of its own, so that it can be
# ended with all its children.


OLDEST = (2, 39)
"""Debian 12's git: the first with all of ``merge-tree --write-tree``, ``repack --geometric`` and
``core.fsync`` that is widely installed."""

_SEALED = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("protocol.allow", "never"),
)


def find_git(
    environ: Mapping[str, str],
    *,
    recorded: str | None = None,
    is_workspace: Callable[[str], bool] | None = None,
) -> str:
    """Returns the absolute path of git: the one recorded, else from the PATH of ``environ``.

    See ``programs``. Raises GitUnusable if there is none to run.
    """
    found = programs.find("git", environ, recorded=recorded, is_workspace=is_workspace)
    if found.program is not None:
        return found.program
    passed_over = f"; {found.passed_over}" if found.passed_over else ""
    raise errors.GitUnusable(
        f"git is not installed, or not in PATH{passed_over}",
        hint="install git 2.39 or newer (package: git)",
    )


def check_version(program: str) -> tuple[int, int]:
    """Returns the version of git, or raises GitUnusable if it is too old to trust."""
    words = Git(program, "/").run(["version"]).split()
    numbers = (words[2] if len(words) > 2 else b"").split(b".")
    if len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].isdigit()):
        raise errors.GitUnusable(f"{program} does not tell its version")
    version = (int(numbers[0]), int(numbers[1]))
    if version < OLDEST:
        raise errors.GitUnusable(
            f"{program} is version {version[0]}.{version[1]}, and takeback needs 2.39",
            hint="install git 2.39 or newer (package: git)",
        )
    return version


class Git:
    """git on one store: ``program`` and ``git_dir`` are absolute paths."""

    def __init__(self, program: str, git_dir: str) -> None:
        if not (program.startswith("/") and git_dir.startswith("/")):
            raise ValueError("git and its store are given by absolute paths")
        self.program = program
        self.git_dir = git_dir

    def run(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        work_tree: str | None = None,
        config: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        ok: Container[int] = (0,),
    ) -> bytes:
        """Runs git to its end and returns its stdout.

        Raises GitFailed if its status is not in ``ok`` and TimedOut, with git and all its
        children ended, after ``timeout`` seconds.
        """
        outcome = self.outcome(
            args, stdin=stdin, work_tree=work_tree, config=config, env=env, timeout=timeout
        )
        if outcome.status not in ok:
            raise errors.GitFailed(args, outcome.status, last_line(outcome.stderr))
        return outcome.stdout

    def outcome(
        self,
        args: Sequence[str],
        *,
        stdin: bytes = b"",
        work_tree: str | None = None,
        config: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> ProcessResult:
        """Runs git to its end and returns how it ended, whatever its status."""
        process = self.spawn(args, work_tree=work_tree, config=config, env=env)
        try:
            return process.finish(stdin, timeout=timeout)
        finally:
            process.close()

    def spawn(
        self,
        args: Sequence[str],
        *,
        work_tree: str | None = None,
        config: Sequence[tuple[str, str]] = (),
        env: Mapping[str, str] | None = None,
    ) -> GitProcess:
        """Starts git and leaves it running, to answer questions; the caller closes it."""
        argv = [self.program, "-C", self.git_dir]
        for key, value in (*_SEALED, *config):
            argv += ["-c", f"{key}={value}"]
        argv += args
        environment = self._environment(work_tree)
        environment.update(env or {})
        return GitProcess(argv, environment, tuple(args))

    def _environment(self, work_tree: str | None) -> dict[str, str]:
        environment = {
            "PATH": f"{os.path.dirname(self.program)}:/usr/bin:/bin",
            "LC_ALL": "C",
            "GIT_DIR": self.git_dir,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "SSH_ASKPASS": "/bin/false",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PAGER": "cat",
        }
        temporary = os.environ.get("TMPDIR", "")
        if temporary.startswith("/"):
            environment["TMPDIR"] = temporary
        if work_tree is not None:
            environment["GIT_WORK_TREE"] = work_tree
        return environment


# -- makes a directory a linked worktree of the project: the only time that git runs in the project
#
# It is done only when a person asks for it. git makes a worktree without files at a temporary
# place, in a directory of the same name as the real one, since git names its record after it; the
# pointer ``.git`` is moved from there into the directory that a fork has filled, and git is told.
# The project's HEAD, index, refs, configuration and objects stay as they are: only
# ``worktrees/NAME`` is new. No hook, filter or monitor of the project runs, and nothing is
# fetched.


_PATIENCE = 120.0


class LinkedWorktree:
    """A worktree to be made at ``commit``; ``git_dir`` is the git directory of the project."""

    def __init__(self, program: str, git_dir: str, commit: str) -> None:
        self._program = program
        self._git = Git(program, git_dir)
        self.commit = commit

    @classmethod
    def at(cls, program: str, git_dir: str, *wanted: str | None) -> LinkedWorktree | None:
        """Returns one at the first commit that the project has; None if it has none of them."""
        git = Git(program, git_dir)
        for name in wanted:
            if name is None or name.startswith("-"):
                continue
            try:
                found = git.run(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
            except GitFailed:
                continue
            return cls(program, git_dir, found.decode("ascii", "replace").strip())
        return None

    def attach(self, directory: str, temporary: str) -> None:
        """Gives a directory its ``.git``; raises GitFailed, TimedOut or OSError.

        ``temporary`` is an unused name beside the directory.
        """
        parent, name = os.path.split(directory)
        beside = os.path.join(temporary, name)
        durable.mkdir(temporary)
        try:
            self._run("worktree", "add", "--no-checkout", "--detach", beside, self.commit)
            try:
                durable.rename(os.path.join(beside, ".git"), os.path.join(directory, ".git"))
            except OSError:
                self._run("worktree", "remove", "--force", beside)
                raise
            durable.rmdir(beside)
        finally:
            durable.rmdir(temporary)
        durable.sync_directory(parent)
        self._run("worktree", "repair", directory)
        # The files are those of the checkpoint: what differs from the commit is shown as changed.
        Git(self._program, self._record(directory)).run(
            ["read-tree", self.commit], work_tree=directory, timeout=_PATIENCE
        )

    def _run(self, *words: str) -> None:
        self._git.run(words, timeout=_PATIENCE)

    @staticmethod
    def _record(directory: str) -> str:
        """Returns the project's record of the worktree, to which its pointer leads."""
        with open(os.path.join(directory, ".git"), "rb", opener=ordinary) as file:
            pointer = os.fsdecode(file.read().removeprefix(b"gitdir: ").rstrip(b"\n"))
        return os.path.realpath(os.path.join(directory, pointer))


# -- makes and keeps the bare repository of a store


# What people keep in their directories is not for fsck to judge: a `.gitmodules` that git would
# refuse is a file like any other here. This list may hold only ids that git 2.39 knows: it stops at
# any other.
_ACCEPTED = (
    "badFilemode",  # our trees carry all permission bits
    "zeroPaddedFilemode",
    "hasDotgit",  # .GIT, git~1 and the like
    "gitattributesBlob",
    "gitattributesLarge",
    "gitattributesLineLength",
    "gitattributesMissing",
    "gitattributesSymlink",
    "gitignoreSymlink",
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
    "mailmapSymlink",
)

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\thooksPath = /dev/null
\tfsmonitor = false
\tlogAllRefUpdates = false
\tfsync = all
\tmultiPackIndex = false
[gc]
\tauto = 0
\tpruneExpire = never
\treflogExpire = never
\twriteCommitGraph = false
[maintenance]
\tauto = false
[repack]
\twriteBitmaps = false
\tupdateServerInfo = false
[pack]
\twindow = 10
\twriteReverseIndex = false
[transfer]
\tfsckObjects = false
"""

HEAD = "ref: refs/heads/takeback\n"
_LONG = 3600.0


def init(git_dir: str) -> None:
    """Makes an empty store at ``git_dir``, private to the user; keeps one that exists.

    Only what git needs to take it for a repository: `git init` makes directories besides that are
    never used here, and each takes a block of the disk.
    """
    for directory in (f"{git_dir}/objects/pack", f"{git_dir}/refs"):
        durable.make_directories(directory)
    write_own_files(git_dir)
    for directory in (f"{git_dir}/objects", git_dir, os.path.dirname(git_dir)):
        durable.sync_directory(directory)


def write_own_files(git_dir: str) -> None:
    """Writes the two files without which it is not a repository, flushed, as git does not."""
    durable.replace_file(f"{git_dir}/HEAD", HEAD.encode())
    durable.replace_file(f"{git_dir}/config", config_text().encode())


def config_text() -> str:
    """Returns the configuration file of a store."""
    accepted = "".join(f"\t{message} = ignore\n" for message in _ACCEPTED)
    return f"{_CONFIG}[fsck]\n{accepted}"


def fsck(git: Git) -> list[str]:
    """Returns what ``git fsck`` finds wrong with the store, in its own words; empty if nothing."""
    odd = odd_objects(git.git_dir)
    if odd:
        return [f"{name} is not an ordinary file: git was not asked" for name in odd]
    outcome = git.outcome(
        ["fsck", "--full", "--no-dangling", "--no-progress", "--no-reflogs"], timeout=_LONG
    )
    if outcome.status == 0:
        return []
    said = (outcome.stdout + outcome.stderr).decode("utf-8", "replace").splitlines()
    return [line for line in said if line] or [f"git fsck ended with status {outcome.status}"]


def odd_objects(git_dir: str) -> list[str]:
    """Returns what is neither a file nor a directory where the objects are.

    git opens what it finds there: it would wait for ever for somebody to write into a pipe.
    """
    top = os.path.join(git_dir, "objects")
    odd = []
    for directory in (top, *(os.path.join(top, name) for name in all_names(top))):
        try:
            with os.scandir(directory) as entries:
                odd += [e.path for e in entries if not e.is_dir() and not e.is_file()]
        except (NotADirectoryError, FileNotFoundError):
            continue
    return sorted(os.path.relpath(path, git_dir) for path in odd)


def _check_objects(git: Git) -> None:
    odd = odd_objects(git.git_dir)
    if odd:
        raise StoreDamaged(f"{odd[0]} in the store is not an ordinary file")


def index_pack(git: Git, pack: str) -> None:
    """Writes the index of a pack again, flushed; ``pack`` is its path without the suffix.

    Raises GitFailed, with nothing changed, if the pack cannot be read back.
    """
    folder, name = os.path.split(pack)
    if os.path.lexists(f"{pack}.idx") and not os.path.isfile(f"{pack}.idx"):
        durable.unlink(f"{pack}.idx")  # a pipe, or a link that leads nowhere: it holds nothing
    _check_objects(git)
    temporary = f"{folder}/tmp_idx_{name}"
    git.run(["index-pack", "-o", temporary, f"{pack}.pack"], timeout=_LONG)
    fd = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    try:
        durable.sync(fd)
    finally:
        os.close(fd)
    durable.rename(temporary, f"{pack}.idx")
    durable.sync_directory(folder)


def pack_reachable(git: Git, pack_dir: str, tips: Iterable[bytes] | None = None) -> list[str]:
    """Writes all that the refs lead to into a new pack, with deltas; returns its name.

    With ``tips`` all that those objects lead to instead, whatever the refs say. Raises GitFailed
    and writes nothing if an object is missing. The other packs stay.
    """
    if tips is None:
        return _pack_objects(git, pack_dir, "--all")
    listed = b"".join(tip.hex().encode() + b"\n" for tip in tips)
    return _pack_objects(git, pack_dir, "--revs", stdin=listed)


def pack_together(git: Git, pack_dir: str, names: Iterable[str]) -> list[str]:
    """Writes every object of some packs, referenced or not, into a new one; returns its name.

    Raises GitFailed and writes nothing if an object cannot be read back. The other packs stay.
    """
    listed = "".join(f"{name}.pack\n" for name in names).encode()
    return _pack_objects(git, pack_dir, "--stdin-packs", stdin=listed)


def reachable_bytes(git: Git) -> int:
    """Returns how many bytes what the refs lead to takes in the packs; reads no file's content."""
    _check_objects(git)
    said = git.run(["rev-list", "--all", "--objects", "--disk-usage"], timeout=_LONG)
    return int(said)


def _pack_objects(git: Git, pack_dir: str, which: str, *, stdin: bytes = b"") -> list[str]:
    _check_objects(git)
    said = git.run(
        [
            "pack-objects",
            which,
            "--delta-base-offset",
            "--quiet",
            "--window=10",
            os.path.join(pack_dir, "pack"),
        ],
        stdin=stdin,
        config=(
            ("core.bigFileThreshold", str(_largest_delta())),
            ("pack.windowMemory", str(_WINDOW)),
            ("pack.deltaCacheSize", "32m"),
            ("core.packedGitWindowSize", "16m"),
            ("core.packedGitLimit", "64m"),
            ("pack.threads", "1"),
            ("pack.writeReverseIndex", "false"),
        ),
        timeout=_LONG,
    )
    durable.sync_directory(pack_dir)  # git flushes what it wrote, and not its name
    return [f"pack-{name}" for name in said.decode().split()]


def foreign_refs(git: Git, ours: str) -> list[str]:
    """Returns the refs of a store that are not below ``ours``: somebody made them by hand."""
    said = git.run(["for-each-ref", "--format=%(refname)"]).decode(errors="surrogateescape")
    return [name for name in said.split() if not name.startswith(ours)]


_WINDOW = 256 << 20
_LARGEST_DELTA = 192 << 20
_SMALLEST_LARGEST = 16 << 20


def _largest_delta() -> int:
    """Returns how long a file may be that is stored as its difference from another.

    git needs up to six times as much memory for it, whatever is said of the window, and we twice
    as much to read it back: no more than a quarter of the machine's. Longer ones are stored whole.
    """
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return _SMALLEST_LARGEST
    return max(_SMALLEST_LARGEST, min(memory // 24, _LARGEST_DELTA))
