"""The command as an installer leaves it: which Python it starts, and that nothing else is run.

A source distribution is made, a wheel of that, and pip installs the wheel.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback import programs
from tests.support.packages import install_example
from tests.support.processes import Started

ROOT = Path(__file__).parents[1]
PYTHON = Path(sys.executable).resolve()
NAME = "python{}.{}".format(*sys.version_info)
WAYS = ("venv", "editable", "user", "linked")
PLANTED = (
    *("sitecustomize.py", "usercustomize.py", "takeback/__init__.py", "takeback/__main__.py"),
    *("json.py", "os.py", "site.py", "encodings/__init__.py", "click/__init__.py"),
    *(f"lib/{NAME}/site-packages/{name}.py" for name in ("usercustomize", "sitecustomize")),
)
Install = Callable[[str], Path]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One environment for each way to install takeback; what it needs is this Python's own."""
    place = tmp_path_factory.mktemp("made")

    def build(source: Path, target: str) -> Path:
        folder = place / target.replace(":", "-")
        words = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t", target]
        subprocess.run(words, cwd=source, check=True, capture_output=True)
        return next(folder.iterdir())

    with tarfile.open(build(ROOT, "sdist")) as packed:
        packed.extractall(place / "source", filter="tar")
    (source,) = (place / "source").iterdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    pip += ["--no-deps", "--no-index", "--no-compile", "--ignore-installed"]
    wheels = {
        "venv": build(source, "wheel:standard"),
        "editable": build(source, "wheel:editable"),
    }
    for way, wheel in wheels.items():
        base = place / way
        venv.create(base, symlinks=True)
        subprocess.run([*pip, "--prefix", str(base), str(wheel)], check=True)
        needed = base / "lib" / NAME / "site-packages" / "needed.pth"
        needed.write_text(sysconfig.get_path("purelib") + "\n")
    return {way: place / way for way in wheels}


@pytest.fixture
def install(environments: dict[str, Path], tmp_path: Path) -> Install:
    """Returns the command in an environment of the test's own."""

    def put(way: str) -> Path:
        base = tmp_path / "has a blank" / way
        source = environments["editable" if way == "editable" else "venv"]
        shutil.copytree(source, base, symlinks=True)
        command = base / "bin" / "takeback"
        if way == "user":  # the interpreter is somebody else's, and does not look here by itself
            (base / "pyvenv.cfg").unlink()
            (base / "bin" / NAME).unlink()
            (base / "bin" / NAME).symlink_to(PYTHON)
        if way == "linked":  # as pipx and uv do, and a person once more
            (tmp_path / "apps").mkdir()
            (tmp_path / "apps" / "takeback").symlink_to(command)
            (tmp_path / "tb").symlink_to(Path("apps", "takeback"))
            return tmp_path / "tb"
        return command

    return put


@pytest.fixture
def trap(workspace: Path, tmp_path: Path) -> Path:
    """A file that comes to be as soon as anything is imported from the workspace."""
    mark = tmp_path / "sprung"
    for name in PLANTED:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"open({str(mark)!r}, 'a').write(__file__)\n")
    return mark


def variables_of(workspace: Path) -> list[dict[str, str]]:
    here = str(workspace)
    return [
        {},
        {"PYTHONPATH": here},
        {"PYTHONPATH": "."},
        {"PYTHONPATH": ":"},
        {"PYTHONPATH": here, "PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": ""},
        {"PYTHONUSERBASE": here},
        {"PYTHONHOME": here},
        {"PYTHONSTARTUP": f"{here}/json.py", "PYTHONINSPECT": "1"},
        {"PYTHONWARNINGS": "error::json.X", "PYTHONBREAKPOINT": "json.x", "PYTHONPLATLIBDIR": "."},
    ]


def called(
    command: Path | list[str], workspace: Path, *words: str, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(command if isinstance(command, list) else [str(command)]), *words],
        cwd=workspace,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_the_project_runs_in_the_persons_command(
    install: Install, way: str, workspace: Path, trap: Path
) -> None:
    command = install(way)
    made = called(command, workspace, "checkpoint")
    assert (made.returncode, made.stderr) == (0, "")
    for env in variables_of(workspace):
        for words in (["log"], ["--json", "show", "@"]):
            answer = called(command, workspace, *words, **env)
            assert (answer.returncode, answer.stderr) == (0, ""), (env, words)
    assert not trap.exists(), trap.read_text()


def test_python_m_takeback_begins_again_where_nothing_of_the_project_is_found(
    workspace: Path, trap: Path
) -> None:
    for name in ("takeback", "encodings"):  # Python itself takes these, before anything of ours
        (workspace / name / "__init__.py").unlink()
    (workspace / "takeback" / "__main__.py").unlink()
    for name in ("os.py", "site.py", "sitecustomize.py", "usercustomize.py"):
        (workspace / name).unlink()
    for env in ({}, {"PYTHONPATH": str(workspace)}, {"PYTHONPATH": "."}):
        command = [sys.executable, "-m", "takeback"]
        answer = called(command, workspace, "--json", "checkpoint", **env)
        assert (answer.returncode, answer.stderr) == (0, ""), env
    assert not trap.exists(), trap.read_text()


def test_what_takeback_starts_of_itself_is_isolated_too(workspace: Path, trap: Path) -> None:
    for env in variables_of(workspace):
        answer = called(programs.takeback("--json"), workspace, "checkpoint", **env)
        assert (answer.returncode, answer.stderr) == (0, ""), env
    assert not trap.exists(), trap.read_text()


@pytest.mark.parametrize("way", ["venv", "user"])
def test_an_agent_of_another_package_is_found_where_takeback_is(
    install: Install, way: str, workspace: Path
) -> None:
    command = install(way)
    install_example(command.parents[1] / "lib" / NAME / "site-packages")
    answer = called(command, workspace, "init", "scribe", "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert "hook scribe" in answer.stderr  # what it would write, with the name that it has


def test_it_is_the_takeback_that_was_installed_with_the_command(
    install: Install, workspace: Path
) -> None:
    """The environment's own comes before what its interpreter has, and both behind the library."""
    command = install("user")
    packages = command.parents[1] / "lib" / NAME / "site-packages"
    (packages / "takeback" / "_version.py").write_text('__version__ = "7.7.7"\n')
    (packages / "json").mkdir()
    (packages / "json" / "__init__.py").write_text("raise SystemExit('not the library')")
    assert called(command, workspace, "--version").stdout == "takeback 7.7.7\n"
    assert called(command, workspace, "--json", "status").returncode == 0


def test_of_two_that_were_installed_it_is_the_newer_one_that_can_run(
    install: Install, workspace: Path
) -> None:
    command = install("user")
    library = command.parents[1] / "lib"
    (about,) = (library / NAME / "site-packages").glob("takeback-*.dist-info")
    for other, age in (("python3.1", -9), ("python3.99", 9)):
        left = library / other / "site-packages" / about.name
        left.mkdir(parents=True)
        now = about.stat().st_mtime + age
        os.utime(left, (now, now))
    (command.parent / "python3.1").symlink_to("/bin/false")
    assert called(command, workspace, "--version").returncode == 0


def test_its_words_streams_status_and_signals_are_its_own(
    install: Install, workspace: Path
) -> None:
    command = install("linked")
    odd = ["", "a  b", "$HOME", "-X", "'", "*"]
    shell = ["sh", "-c", 'cat; printf "[%s]" "$@"; exit 7', "sh", *odd]
    done = subprocess.run(
        [str(command), "run", "--", *shell], cwd=workspace, input=b"given", capture_output=True
    )
    assert done.returncode == 7
    assert done.stdout == b"given" + "".join(f"[{word}]" for word in odd).encode()
    serve = [str(command), "serve", "--json"]
    with Started[bytes](serve, cwd=workspace, stdout=subprocess.PIPE) as served:
        assert served.stdout is not None
        assert b'"url"' in served.stdout.readline()
        words = Path(f"/proc/{served.pid}/cmdline").read_bytes().split(b"\0")
        assert words[1] == b"-I"  # the shell has become Python
        served.send_signal(signal.SIGINT)
        assert served.wait(60) == 0


@pytest.mark.parametrize("way", ["relative", "a linked directory", "by its name", "through sh"])
def test_it_is_found_however_it_is_called(install: Install, way: str, workspace: Path) -> None:
    command = install("venv")
    place, env = command.parent, {}
    if way == "relative":
        call = [os.path.relpath(command, workspace)]
    elif way == "a linked directory":
        (workspace / "programs").symlink_to(place)
        call = ["programs/takeback"]
    elif way == "by its name":
        call, env = ["takeback"], {"PATH": f"{place}:{os.environ['PATH']}", "CDPATH": str(ROOT)}
    else:
        call, workspace = ["sh", "takeback"], place
    answer = called(call, workspace, "--version", **env)
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    assert answer.stdout.startswith("takeback ")


def test_without_its_python_it_says_so(install: Install, workspace: Path) -> None:
    command = install("venv")
    copied = workspace / "bin" / "takeback"
    copied.parent.mkdir()
    copied.write_bytes(command.read_bytes())
    copied.chmod(0o755)
    answer = called(copied, workspace, "log")
    assert (answer.returncode, answer.stdout) == (1, "")
    first, second = answer.stderr.splitlines()
    assert first.startswith(f"Error: there is no Python for {copied}")
    assert second.startswith("Hint: ")
