"""takeback run: a program that reports nothing is kept turn by turn, and notices nothing."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from takeback.errors import CannotRun, InUse, NoSuchCommand, NotAWorkspace, Refused, UsageError
from tests.agents.terminal import Terminal, need_tmux
from tests.support.cli import Cli
from tests.support.processes import lock_holder, wait_for
from tests.support.trees import differences, tree_state


def turns(cli: Cli) -> list[dict[str, Any]]:
    """Returns the turns of the log, oldest first."""
    return [line for line in reversed(cli.log("--all")) if line["kind"] == "prompt"]


def paths(turn: dict[str, Any]) -> list[str]:
    return [change["path"] for change in turn["changed"]]


def shell(text: str) -> list[str]:
    return ["run", "--", "sh", "-c", text]


def takeback(*words: str) -> str:
    """Returns a call of takeback for a shell."""
    return shlex.join([sys.executable, "-m", "takeback", *words])


def logged(what: str, times: int) -> str:
    """Returns the line of a shell that waits until the log says something so many times."""
    log = f"{takeback('--json', 'log', '--all')} | grep -c '{what}'"
    return f'until [ "$({log})" -ge {times} ]; do sleep 0.2; done'


def until(turns: int) -> str:
    return logged('"state": *"ended"', turns)


def busy(meanwhile: str) -> str:
    """Returns the lines of a shell that changes a file all the time while it does something."""
    writing = "while [ ! -e ../stop ]; do date +%N >a; sleep 0.05; done"
    return f"{writing} & {meanwhile}; status=$?; touch ../stop; wait; exit $status"


@pytest.fixture(autouse=True)
def kept(cli: Cli) -> None:
    """A file that nobody touches: a workspace without any is another case."""
    (cli.directory / "kept").write_text("kept\n")


# Its turns


def test_each_burst_of_changes_is_a_turn_that_can_be_taken_back(cli: Cli) -> None:
    (cli.directory / "a").write_text("before\n")
    cli.ok(*shell(f"echo one >a; {until(1)}; mkdir -p d/e; echo two >d/e/b; {until(2)}; rm a"))
    first, second, third = turns(cli)
    assert [paths(one) for one in (first, second, third)] == [["a"], ["d/e/b"], ["a"]]
    assert [one["turn"] for one in (first, second, third)] == [1, 2, 3]
    assert {one["agent"] for one in (first, second, third)} == {"sh"}
    assert all("sh -c" in one["prompt"] for one in (first, second, third))
    after = tree_state(cli.directory)
    cli.ok("rewind", "--yes")
    assert (cli.directory / "a").read_text() == "one\n"
    cli.ok("rewind", "--yes")
    assert not (cli.directory / "d").exists()
    cli.ok("rewind", "--yes")
    assert (cli.directory / "a").read_text() == "before\n"
    for _ in range(3):
        cli.ok("undo", "--yes")
    assert differences(after, tree_state(cli.directory)) == []


def test_a_program_that_changes_nothing_has_no_turn(cli: Cli) -> None:
    cli.ok(*shell("echo hello"))
    assert turns(cli) == []


def test_what_changed_last_is_kept_however_soon_the_program_ends(cli: Cli) -> None:
    cli.ok(*shell("echo one >a"))
    [only] = turns(cli)
    assert (paths(only), only["state"]) == (["a"], "ended")


def test_changes_that_go_on_are_kept_meanwhile_in_one_turn(cli: Cli) -> None:
    waiting = busy(logged('"round"', 2))
    cli.ok("run", "--every", "1s", "--", "sh", "-c", waiting)
    assert len(turns(cli)) == 1
    cli.ok("rewind", "--yes")
    assert not (cli.directory / "a").exists()


@pytest.mark.long
def test_what_another_session_has_kept_is_not_a_turn_again(cli: Cli) -> None:
    cli.ok(*shell(f"echo one >a; {takeback('checkpoint')}; sleep 2"))
    assert turns(cli) == []


def test_inside_a_shell_that_is_run_its_own_turns_are_taken_back(cli: Cli) -> None:
    rewind = takeback("rewind", "--yes")
    answer = cli.ok(*shell(f"echo one >a; {until(1)}; {rewind}; ls; sleep 2"))
    assert "Rewound 1 file" in answer.stdout
    assert "\na\n" not in answer.stdout
    assert len(turns(cli)) == 1  # what takeback did is no turn


def test_inside_a_turn_that_goes_on_nothing_is_taken_back(cli: Cli) -> None:
    rewind = busy(f"{logged('running', 1)}; {takeback('rewind', '--yes')}")
    answer = cli.run("run", "--every", "1s", "--", "sh", "-c", rewind)
    assert answer.status == Refused.exit_status
    assert "called from inside a running turn of sh" in answer.stderr


def test_prompts_of_aiders_history_are_turns_and_its_commands_if_they_change_files(
    cli: Cli,
) -> None:
    def typed(words: str) -> str:
        return f"printf '\\n# now\\n+{words}\\n' >>.aider.input.history"

    def said(words: str) -> str:
        return f"printf '\\n{words}\\n' >>.aider.chat.history.md"

    program = cli.directory.parent / "aider"
    lines = [
        "#!/bin/sh",
        *(typed("fix it"), "echo one >a", said("#### fix it"), said("Done.\\n#### forged")),
        *(until(1), typed("/add a"), typed("/undo"), "rm a"),
        *(until(2), typed("why?"), said("#### why?"), said("Because.")),
        until(3),
    ]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    cli.ok("run", program.as_posix())
    own = [[path for path in paths(one) if not path.startswith(".aider")] for one in turns(cli)]
    assert [one["prompt"] for one in turns(cli)] == ["fix it", "/undo", "why?"]
    assert own == [["a"], ["a"], []]
    messages = cli.ok("cat", "turn:3.end", "--conversation", "--messages").stdout
    assert "forged" in messages
    assert messages.count("Because.") == 1


# It is not in the way


def test_output_is_passed_on_byte_for_byte(cli: Cli) -> None:
    program = "import os,sys; d=os.urandom(1<<20)*100; sys.stdout.buffer.write(d); "
    program += "import hashlib; sys.stderr.write(hashlib.sha256(d).hexdigest())"
    done = subprocess.run(
        cli.argv("run", "--", sys.executable, "-c", program),
        cwd=cli.directory,
        env=cli.environment(),
        capture_output=True,
        timeout=120,
        check=True,
    )
    import hashlib

    assert len(done.stdout) == 100 << 20
    assert hashlib.sha256(done.stdout).hexdigest() == done.stderr.decode()


def test_input_environment_descriptors_and_umask_are_the_callers(cli: Cli) -> None:
    asked = "cat; umask; echo $MINE; readlink /proc/self/fd/9; ls /proc/self/fd | sort -n | xargs"
    with open(os.devnull, "rb") as held:
        command = shlex.join(os.fsdecode(word) for word in cli.argv(*shell(asked)))
        beside = shlex.join(["sh", "-c", asked])
        said = [
            subprocess.run(
                ["bash", "-c", f"umask 0137; exec 9<&{held.fileno()}; exec {words}"],
                cwd=cli.directory,
                env=cli.environment({"MINE": "mine"}),
                input=b"typed\n",
                capture_output=True,
                pass_fds=(held.fileno(),),
                timeout=60,
                check=True,
            ).stdout
            for words in (command, beside)
        ]
    assert said[0] == said[1]
    assert said[0].startswith(b"typed\n0137\nmine\n/dev/null\n")


@pytest.mark.parametrize("status", [0, 1, 77, 126, 255])
def test_its_exit_status_is_passed_on(cli: Cli, status: int) -> None:
    assert cli.run(*shell(f"exit {status}")).status == status


@pytest.mark.parametrize("name", ["TERM", "KILL", "INT", "SEGV", "PIPE"])
def test_killed_by_a_signal_it_ends_by_the_same(cli: Cli, name: str) -> None:
    done = cli.cold(*shell(f"echo one >a; kill -{name} $$"))
    assert done.status == -signal.Signals[f"SIG{name}"]
    assert [paths(one) for one in turns(cli)] == [["a"]]


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "INT"])
def test_a_signal_sent_to_takeback_alone_reaches_the_program(cli: Cli, name: str) -> None:
    told = f"trap 'echo heard >a; exit 9' {name}; echo ready >b; while :; do sleep 0.1; done"
    with cli.start(*shell(told)) as running:
        wait_for((cli.directory / "b").exists)
        running.send_signal(signal.Signals[f"SIG{name}"])
        assert running.wait(60) == 9
    assert "a" in paths(turns(cli)[-1])


_EARLY = """
import os, signal, sys, time
from takeback.cli.commands.run import Program

for _ in range(40):
    with Program(["/bin/sh", "-c", sys.argv[1]], os.environ, 0o22) as program:
        end = time.monotonic() + 20
        while program.wait(max(0, end - time.monotonic()), None):
            if time.monotonic() >= end:
                os.kill(program._process.pid, signal.SIGKILL)
                sys.exit("not heard")
print(program.end_likewise())
"""


@pytest.mark.parametrize(
    ("does", "by"),
    [
        ("kill -TERM $PPID; exec sleep 30", signal.SIGTERM),
        ("kill -USR1 $PPID; exec sleep 30", signal.SIGUSR1),
        ("(kill -TSTP $PPID; kill -CONT $PPID; kill -TERM $PPID) & exec sleep 30", signal.SIGTERM),
    ],
)
def test_a_program_that_signals_its_parent_the_moment_it_runs_is_heard(
    does: str, by: signal.Signals
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _EARLY, does], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (-by, b"")


def test_a_killed_takeback_leaves_the_program_alone_and_the_next_closes_its_turn(
    cli: Cli,
) -> None:
    goes_on = "until [ -e stop ]; do date +%N >a; sleep 0.2; done; echo done >b"
    with cli.start("run", "--every", "1s", "--", "sh", "-c", goes_on) as running:
        wait_for(lambda: turns(cli))
        running.kill()
        assert running.wait(60) == -signal.SIGKILL
        (cli.directory / "stop").touch()
        wait_for((cli.directory / "b").exists)
    [only] = turns(cli)
    assert only["state"] == "unfinished"
    cli.ok("rewind", "--yes")
    assert sorted(path.name for path in cli.directory.iterdir()) == [".git", "kept"]
    cli.doctor()


def test_what_fails_while_it_runs_is_takebacks_alone(cli: Cli) -> None:
    cli.ok("checkpoint")
    store = Path(cli.ok("--json", "status").json["store"])
    broken = f"mv {store}/store.git {store}/away; echo one >a; sleep 1.5; echo two; exit 4"
    answer = cli.run(*shell(broken))
    assert (answer.status, answer.stdout, answer.stderr) == (4, "two\n", "")
    (store / "away").rename(store / "store.git")
    assert "run sh: " in cli.ok("status").stdout


@pytest.mark.long
def test_a_workspace_that_is_in_use_costs_the_program_nothing(cli: Cli) -> None:
    cli.ok("checkpoint")
    store = cli.ok("--json", "status").json["store"]
    with cli.start(*shell("echo one >a; read line; echo two >b; sleep 2")) as running:
        wait_for((cli.directory / "a").exists)
        with lock_holder(os.path.join(store, "lock")):
            assert running.stdin is not None
            running.stdin.write(b"go on\n")
            running.stdin.close()
            running.stdin = None
            wait_for((cli.directory / "b").exists)
            time.sleep(1.5)
        assert running.wait(60) == 0
    assert sorted(path for one in turns(cli) for path in paths(one)) == ["a", "b"]


# What is not run


def test_what_cannot_be_started_says_so_with_a_shells_status(cli: Cli) -> None:
    missing = cli.run("run", "no-such-program")
    assert missing.status == NoSuchCommand.exit_status == 127
    assert "no-such-program: there is no such command" in missing.stderr
    (cli.directory / "plain").write_text("echo hello\n")
    plain = cli.run("run", "./plain")
    assert plain.status == CannotRun.exit_status == 126
    assert "./plain cannot be run: Permission denied" in plain.stderr
    (cli.directory / "plain").chmod(0o755)
    assert cli.ok("run", "./plain").stdout == "hello\n"  # as every shell does


def test_where_nothing_can_be_kept_nothing_is_run(cli: Cli, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert cli.run("run").status == UsageError.exit_status
    assert cli.run("--dry-run", "run", "touch", str(mark)).status == UsageError.exit_status
    home = Cli(Path(os.environ["HOME"]))
    assert home.run("run", "touch", str(mark)).status == NotAWorkspace.exit_status
    cli.ok("checkpoint")
    cli.ok("off")
    off = cli.run("run", "touch", str(mark))
    assert (off.status, "takeback on" in off.stderr) == (Refused.exit_status, True)
    cli.ok("on")
    cli.ok("config", "hook_seconds", "1")
    store = cli.ok("--json", "status").json["store"]
    with lock_holder(os.path.join(store, "lock")):
        assert cli.run("run", "touch", str(mark)).status == InUse.exit_status
    assert not mark.exists()


def test_options_after_the_program_are_the_programs(cli: Cli) -> None:
    assert cli.ok("run", "echo", "--json", "--", "-y").stdout == "--json -- -y\n"
    assert cli.ok("run", "--", "echo", "--every", "1s").stdout == "--every 1s\n"


def test_names_that_are_no_text_are_shown_harmlessly(cli: Cli) -> None:
    program = os.fsencode(cli.directory.parent) + b"/we\x1b[31mird\xff"
    os.symlink("/bin/sh", program)
    cli.ok("run", program, "-c", b"echo one >a # \x1b[32m\xfe")
    said = cli.ok("log").stdout
    assert "we\\x1b[31mird\\xff  turn 1" in said
    assert "\x1b" not in said


# At a terminal


@pytest.fixture
def prompt(cli: Cli) -> Terminal:
    """A shell at a terminal, in which ``tb`` is takeback."""
    need_tmux("a terminal")
    words = shlex.join(os.fsdecode(word) for word in cli.argv())
    rc = cli.directory.parent / "rc"
    rc.write_text(f"tb() {{ {words} \"$@\"; }}\nPS1='outer> '\n")
    env = {**cli.environment(), "TERM": "xterm-256color"}
    return Terminal(["bash", "--noprofile", "--rcfile", str(rc)], cwd=cli.directory, env=env)


def test_a_shell_at_a_terminal_has_it_as_without_takeback(cli: Cli, prompt: Terminal) -> None:
    with prompt as terminal:
        terminal.shows("outer>")
        terminal.say("tb run -- env PS1='inn''er> ' bash --norc --noprofile")
        terminal.shows("inner>")
        terminal.say("test -t 0 && test -t 1 && test -t 2 && tty | sed s/dev/at/")
        terminal.shows("/at/pts/")
        terminal.resize(100, 40)
        terminal.say("stty size | tr ' ' x")
        terminal.shows("40x100")
        terminal.say("echo one >a; echo wait''ing; cat")
        terminal.shows("\nwaiting")
        terminal.press("C-c")
        terminal.shows("^C inner>")
        terminal.say("echo af''ter $?")
        terminal.shows("after 130")
        terminal.say("echo wait''ing for a line; cat >b")
        terminal.shows("waiting for a line")
        terminal.press("C-z")
        terminal.shows("Stopped")
        terminal.say("fg")
        terminal.until(lambda: terminal.screen.count("cat > b") == 2, "see it go on")
        terminal.say("typed")
        terminal.press("C-d")
        terminal.until(lambda: (cli.directory / "b").read_text() == "typed\n", "see it written")
        terminal.say("suspend")
        terminal.shows('-m takeback "$@" outer>')
        terminal.say("fg")
        terminal.say("echo ag''ain")
        terminal.shows("again")
        terminal.say("exit 5")
        terminal.shows("kept. Take the last one back: takeback rewind")
        terminal.say("echo end''ed $?")
        terminal.shows("ended 5")
    assert {path for one in turns(cli) for path in paths(one)} == {"a", "b"}


def test_a_program_is_stopped_continued_and_interrupted_by_keys(cli: Cli, prompt: Terminal) -> None:
    def written(text: str) -> bool:
        return (cli.directory / "a").read_text() == text

    with prompt as terminal:
        terminal.shows("outer>")
        terminal.say("tb run -- sh -c 'echo beg\"\"un; cat >a; echo ended'")
        terminal.shows("begun")
        terminal.say("first")  # what is not read yet when the key comes is dropped by the terminal
        terminal.until(lambda: written("first\n"), "see it written")
        terminal.press("C-z")
        terminal.shows("Stopped")
        terminal.say("jobs | tr S s")
        terminal.shows("stopped")
        terminal.say("fg")
        terminal.until(lambda: terminal.screen.count('-m takeback "$@"') == 3, "see it go on")
        terminal.say("second")
        terminal.until(lambda: written("first\nsecond\n"), "see it written")
        terminal.press("C-c")
        terminal.shows("kept. Take the last one back: takeback rewind")
        terminal.say("echo sta''tus $?")
        terminal.shows("status 130")
    assert {path for one in turns(cli) for path in paths(one)} == {"a"}
