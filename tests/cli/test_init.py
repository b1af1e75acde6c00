"""takeback init and uninstall: what becomes of a person's settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback.adapters import launcher
from tests.cli.typing_person import at_a_terminal
from tests.support.cli import Cli
from tests.support.trees import tree_state

CLAUDE = b"""{
    "theme": "dark",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "notify"}]}]
    }
}"""
GEMINI = b"""// mine
{
  "general": {"vimMode": true,}, /* of course */
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a person who uses Claude Code, Codex and Gemini CLI."""
    home = tmp_path / "home"
    for name in (".claude", ".codex", ".gemini"):
        (home / name).mkdir()
    (home / ".claude" / "settings.json").write_bytes(CLAUDE)
    (home / ".gemini" / "settings.json").write_bytes(GEMINI)
    return home


@pytest.fixture
def cli(workspace: Path, tmp_path: Path) -> Cli:
    """takeback on a machine whose only program is git, so that no agent is found by its name."""
    (tmp_path / "bin").mkdir()
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "bin" / "git").symlink_to(git)
    return Cli(workspace, env={"PATH": str(tmp_path / "bin")})


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """takeback's own home."""
    return tmp_path / "takeback"


def events(path: Path) -> list[str]:
    """Returns the events for which a settings file calls us."""
    hooks = json.loads(path.read_text())["hooks"]
    return [
        event
        for event, groups in hooks.items()
        if any("/bin/hook" in h["command"] for group in groups for h in group["hooks"])
    ]


# -- what is said and written


def test_a_transcript(cli: Cli, home: Path, ours: Path) -> None:
    text = ""
    for words in (
        ["init", "codex", "--dry-run"],
        ["init", "codex", "--yes"],
        ["init", "codex"],
        ["uninstall", "codex", "--dry-run"],
        ["uninstall", "codex", "--yes"],
        ["uninstall"],
    ):
        answer = cli.ok(*words)
        text += f"$ takeback {' '.join(words)}\n{answer.stderr}{answer.stdout}"
    text = text.replace(str(ours), "OURS").replace(str(home), "HOME")
    lines = [line for line in text.splitlines() if not line.startswith(("  +", "  -"))]
    assert "\n".join(lines) == snapshot("""\
$ takeback init codex --dry-run
takeback keeps the files of each project that an agent works in, and the transcripts,
in OURS, readable by you alone, sent nowhere. Opt out: takeback off. Delete: takeback forget DIR.
The files of old checkpoints go after 30 days, or above 2GB a project or 20GB in all.
Codex: HOME/.codex/hooks.json
  @@ -0,0 +1,31 @@
$ takeback init codex --yes
takeback keeps the files of each project that an agent works in, and the transcripts,
in OURS, readable by you alone, sent nowhere. Opt out: takeback off. Delete: takeback forget DIR.
The files of old checkpoints go after 30 days, or above 2GB a project or 20GB in all.
  Codex: HOME/.codex/hooks.json: a new file of 31 lines
Codex: connected. Say "Trust all" when codex asks about hooks: until then none runs.
$ takeback init codex
takeback keeps the files of each project that an agent works in, and the transcripts,
in OURS, readable by you alone, sent nowhere. Opt out: takeback off. Delete: takeback forget DIR.
The files of old checkpoints go after 30 days, or above 2GB a project or 20GB in all.
Codex: already connected. Say "Trust all" when codex asks about hooks: until then none runs.
$ takeback uninstall codex --dry-run
Codex: HOME/.codex/hooks.json
  @@ -1,31 +0,0 @@
$ takeback uninstall codex --yes
  Codex: HOME/.codex/hooks.json: goes
Disconnected Codex. Every checkpoint is kept.
$ takeback uninstall
No agent was connected. Every checkpoint is kept.\
""")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_age_days": "1"}, "after 1 day, or above 2GB a project or 20GB in all."),
        ({"max_age_days": "0", "max_total_bytes": "0"}, "above 2GB a project."),
        (
            {"max_bytes": "500 MB", "max_total_bytes": "0", "max_snapshots": "1000"},
            "after 30 days, or above 500 MB or 1,000 snapshots a project.",
        ),
        ({"max_age_days": "0", "max_bytes": "0"}, "above 20GB in all."),
        ({"max_age_days": "0", "max_bytes": "0", "max_total_bytes": "0 MB"}, None),
    ],
)
def test_what_is_said_before_the_consent_is_what_the_settings_do(
    cli: Cli, settings: dict[str, str], said: str | None
) -> None:
    for name, value in settings.items():
        cli.ok("config", name, value)
    kept = cli.ok("init", "codex", "--dry-run").stderr.splitlines()[2]
    dropped = "The files of old checkpoints go "
    assert kept == ("No checkpoint goes by itself." if said is None else f"{dropped}{said}")


def test_all_agents_that_are_there_are_connected(cli: Cli, home: Path, ours: Path) -> None:
    answer = cli.ok("init", "--yes")
    assert [line.partition(":")[0] for line in answer.stdout.splitlines()] == [
        "Claude Code",
        "Codex",
        "Gemini CLI",
    ]
    assert "UserPromptSubmit" in events(home / ".claude" / "settings.json")
    assert "Interrupt" in events(home / ".codex" / "hooks.json")
    gemini = (home / ".gemini" / "settings.json").read_text()
    assert gemini.startswith('// mine\n{\n  "general": {"vimMode": true,}, /* of course */\n')
    assert "BeforeAgent" in gemini
    assert launcher.is_sound(str(ours))


def test_other_hooks_stay_and_a_second_time_changes_nothing(cli: Cli, home: Path) -> None:
    cli.ok("init", "--yes")
    settings = home / ".claude" / "settings.json"
    assert json.loads(settings.read_text())["hooks"]["Stop"][0] == {
        "hooks": [{"type": "command", "command": "notify"}]
    }
    before = tree_state(home, identity=True)
    answer = cli.ok("init")
    assert "Claude Code: already connected." in answer.stdout
    assert tree_state(home, identity=True) == before


def test_a_command_of_the_persons_own_by_our_name_stays(cli: Cli, home: Path) -> None:
    command = home / ".claude" / "commands" / "takeback.md"
    cli.ok("init", "claude", "--yes")
    assert b"description: " in command.read_bytes()
    cli.ok("uninstall", "--yes")
    assert not command.parent.exists()
    command.parent.mkdir()
    command.write_text("mine\n")
    cli.ok("init", "claude", "--yes")
    assert command.read_text() == "mine\n"
    cli.ok("uninstall", "--yes")
    assert command.read_text() == "mine\n"


def test_a_dry_run_writes_nothing(cli: Cli, home: Path, ours: Path) -> None:
    before = tree_state(home)
    answer = cli.ok("init", "--dry-run")
    assert "UserPromptSubmit" in answer.stderr
    assert tree_state(home) == before
    assert not ours.exists()


def test_json(cli: Cli, home: Path) -> None:
    planned = cli.ok("--json", "init", "claude", "--dry-run")
    assert planned.json == {
        "type": "init",
        "v": 1,
        "done": False,
        "agents": [
            {
                "agent": "claude",
                "title": "Claude Code",
                "changes": True,
                "files": [
                    str(home / ".claude" / "settings.json"),
                    str(home / ".claude" / "commands" / "takeback.md"),
                ],
                "real_files": [
                    str(home / ".claude" / "settings.json"),
                    str(home / ".claude" / "commands" / "takeback.md"),
                ],
                "advice": "Sessions that are open now hear of it when they are started again.",
            }
        ],
    }
    done = cli.ok("--json", "init", "claude", "--yes")
    assert done.json == {**planned.json, "done": True}
    assert planned.stderr == done.stderr == ""
    gone = cli.ok("--json", "uninstall", "claude", "--yes")
    assert gone.json == {**planned.json, "type": "uninstall", "done": True}
    assert gone.stderr == ""


# -- who is asked


@pytest.mark.parametrize("words", [["init"], ["--json", "init"]])
def test_without_a_terminal_it_needs_yes(
    cli: Cli, home: Path, ours: Path, words: list[str]
) -> None:
    before = tree_state(home)
    answer = cli.run(*words)
    assert answer.status == 13
    assert "--yes" in answer.stderr
    assert tree_state(home) == before
    assert not ours.exists()
    cli.ok("init", "--yes")
    connected = tree_state(home)
    assert cli.run("uninstall").status == 13
    assert tree_state(home) == connected


def test_a_person_is_asked(cli: Cli, home: Path, ours: Path) -> None:
    before = tree_state(home)
    seen = at_a_terminal(cli, "init", "claude", answers=("n\n",))
    assert seen.status == 1
    assert "Nothing was changed." in seen.screen
    assert tree_state(home) == before
    assert not ours.exists()
    seen = at_a_terminal(cli, "init", "claude", answers=("y\n", "y\n"))
    assert seen.status == 0, seen.screen
    assert "Make the first checkpoint here now?" in seen.screen
    assert len(cli.ok("--json", "log").json_lines) == 1
    seen = at_a_terminal(cli, "uninstall", answers=("n\n",))
    assert seen.status == 1
    assert tree_state(home) != before
    seen = at_a_terminal(cli, "uninstall", answers=("y\n",))
    assert seen.status == 0
    assert tree_state(home) == before


# -- what is refused


@pytest.mark.parametrize("broken", [b"{", b"\xff", b"[]", b'{"hooks": 1}'])
def test_a_settings_file_that_is_broken_is_left_alone(
    cli: Cli, home: Path, ours: Path, broken: bytes
) -> None:
    (home / ".claude" / "settings.json").write_bytes(broken)
    before = tree_state(home)
    answer = cli.run("--json", "init", "--yes")
    assert answer.status == 13
    assert "settings.json cannot be edited: " in answer.error["message"]
    assert tree_state(home) == before
    assert not ours.exists()


@pytest.mark.parametrize(
    ("agent", "off"),
    [
        ("claude", '{"disableAllHooks": true}'),
        ("gemini", '{"hooksConfig": {"enabled": false}}'),
    ],
)
def test_an_agent_with_hooks_turned_off_is_not_called_connected(
    cli: Cli, home: Path, agent: str, off: str
) -> None:
    settings = home / f".{agent}" / "settings.json"
    settings.write_text(off)
    answer = cli.run("--json", "init", agent, "--yes")
    assert answer.status == 13
    assert "turns hooks off" in answer.error["message"]
    assert settings.read_text() == off
    settings.write_text("{}")
    cli.ok("init", agent, "--yes")
    cli.ok("checkpoint")

    def is_connected() -> bool:
        [state] = [a for a in cli.ok("--json", "status").json["agents"] if a["agent"] == agent]
        return bool(state["connected"])

    assert is_connected()
    connected = settings.read_text()
    settings.write_text(connected.replace("{", off[:-1] + ",", 1))
    assert not is_connected()
    cli.ok("uninstall", "--yes")
    assert json.loads(settings.read_text()) == json.loads(off)


def test_an_agent_that_nobody_knows_is_refused(cli: Cli) -> None:
    answer = cli.run("--json", "init", "clod", "--yes")
    assert answer.status == 2
    assert "claude" in answer.error["hint"]


def test_a_machine_without_agents_is_left_alone(cli: Cli, ours: Path) -> None:
    answer = cli.ok("init")
    assert answer.stdout == ("No agent was found on this machine; name one: takeback init claude\n")
    assert not ours.exists()


def test_the_question_comes_with_everything_on_one_screen(cli: Cli, home: Path) -> None:
    (home / ".pi" / "agent").mkdir(parents=True)
    (home / ".config" / "opencode").mkdir(parents=True)
    seen = at_a_terminal(cli, "init", answers=("d\n", "n\n"), env={"NO_COLOR": "1"})
    assert seen.status == 1
    first, _, then = seen.screen.partition("[y/N] d\n")
    assert len(first.splitlines()) <= 10, first
    assert f"  Codex: {home}/.codex/hooks.json: a new file of 31 lines" in first.splitlines()
    assert f"  pi: {home}/.pi/agent/extensions/takeback: 5 new files of " in first
    assert "UserPromptSubmit" not in first
    assert "UserPromptSubmit" in then
    assert then.endswith("[y/N] n\nNothing was changed.\n")


# -- uninstall


def test_uninstall_leaves_every_byte_as_it_was_and_keeps_checkpoints(
    cli: Cli, home: Path, ours: Path, workspace: Path
) -> None:
    before = tree_state(home)
    (workspace / "file").write_text("mine\n")
    held = cli.ok("--json", "checkpoint").json["id"]
    cli.ok("init", "--yes")
    copies = {path.read_bytes() for path in (ours / "connected").iterdir()}
    assert copies >= {CLAUDE, GEMINI}
    answer = cli.ok("uninstall", "--yes")
    assert "Disconnected Claude Code, Codex, Gemini CLI." in answer.stdout
    assert tree_state(home) == before
    assert [path.name for path in (ours / "bin").iterdir()] == ["hook"]
    assert list((ours / "connected").iterdir()) == []
    assert [line["id"] for line in cli.ok("--json", "log").json_lines] == [held]


def test_uninstall_takes_only_ours_out_of_what_was_edited_since(cli: Cli, home: Path) -> None:
    cli.ok("init", "claude", "--yes")
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"dark"', '"light"'))
    cli.ok("uninstall", "--yes")
    assert settings.read_bytes() == CLAUDE.replace(b'"dark"', b'"light"')


def test_the_launcher_stays_as_long_as_an_agent_calls_it(cli: Cli, home: Path, ours: Path) -> None:
    cli.ok("init", "--yes")
    cli.ok("uninstall", "claude", "--yes")
    assert launcher.is_sound(str(ours))
    assert (home / ".claude" / "settings.json").read_bytes() == CLAUDE
    cli.ok("uninstall", "--yes")
    assert not launcher.is_sound(str(ours))


# -- where


def test_for_one_project_only(cli: Cli, home: Path, ours: Path, workspace: Path) -> None:
    before = tree_state(home)
    cli.ok("init", "claude", "codex", "gemini", "--here", "--yes")
    assert tree_state(home) == before
    assert events(workspace / ".claude" / "settings.local.json")
    assert events(workspace / ".codex" / "hooks.json")
    assert events(workspace / ".gemini" / "settings.json")
    cli.ok("uninstall", "--here", "--yes")
    assert tree_state(workspace) == {}
    assert not launcher.is_sound(str(ours))


def test_uninstall_takes_what_was_written_for_projects_too(
    cli: Cli, home: Path, ours: Path, workspace: Path, tmp_path: Path
) -> None:
    before = tree_state(home)
    cli.ok("init", "claude", "--yes")
    cli.ok("init", "claude", "--here", "--yes")
    elsewhere = Cli(tmp_path, cli.env)
    cli.ok("uninstall", "--here", "--yes")
    assert tree_state(workspace) == {}
    assert launcher.is_sound(str(ours))
    cli.ok("init", "claude", "--here", "--yes")
    elsewhere.ok("uninstall", "--yes")
    assert tree_state(workspace) == {}
    assert tree_state(home) == before
    assert not launcher.is_sound(str(ours))


def test_a_link_to_a_settings_file_stays_one(cli: Cli, home: Path, tmp_path: Path) -> None:
    settings, real = home / ".claude" / "settings.json", tmp_path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    cli.ok("init", "claude", "--yes")
    assert settings.is_symlink()
    assert events(real)
    cli.ok("uninstall", "--yes")
    assert settings.is_symlink()
    assert real.read_bytes() == CLAUDE


def test_the_file_that_a_link_leads_to_is_shown(cli: Cli, home: Path, tmp_path: Path) -> None:
    settings, real = home / ".claude" / "settings.json", tmp_path / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    assert f"{settings} -> {real}" in cli.ok("init", "claude", "--dry-run").stderr
    [agent] = cli.ok("--json", "init", "claude", "--dry-run").json["agents"]
    assert str(real) in agent["real_files"]


@pytest.mark.parametrize(
    ("agent", "link", "there"),
    [
        ("claude", ".claude/settings.local.json", "file"),
        ("claude", ".claude/settings.local.json", "nothing"),
        ("claude", ".claude/commands/takeback.md", "nothing"),
        ("claude", ".claude", "directory"),
        ("claude", ".claude", "nothing"),
        ("gemini", ".gemini/settings.json", "file"),
        ("opencode", ".opencode/plugins/takeback.js", "file"),
        ("opencode", ".opencode/plugins/takeback.js", "nothing"),
        ("pi", ".pi", "directory"),
    ],
)
def test_a_link_of_the_project_leads_no_edit_out_of_it(
    cli: Cli, home: Path, workspace: Path, tmp_path: Path, agent: str, link: str, there: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "target"
    if there == "file":
        target.write_text("{}")
    elif there == "directory":
        target.mkdir()
    (workspace / link).parent.mkdir(parents=True, exist_ok=True)
    (workspace / link).symlink_to(target)
    before = tree_state(outside), tree_state(home), tree_state(workspace)
    refused = cli.run("--json", "init", "--here", agent, "--yes")
    assert refused.status == 13, refused
    assert str(target) in refused.error["message"]
    assert (tree_state(outside), tree_state(home), tree_state(workspace)) == before


def test_what_is_written_while_the_question_stands_is_kept(cli: Cli, home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    changed = CLAUDE.replace(b'"theme": "dark"', b'"permissions": {"deny": ["Bash(rm:*)"]}')

    def change_and_agree() -> str:
        settings.write_bytes(changed)
        return "y\n"

    seen = at_a_terminal(cli, "init", "claude", answers=(change_and_agree,))
    assert seen.status == 13, seen.screen
    assert settings.read_bytes() == changed
    cli.ok("init", "claude", "--yes")
    assert b"Bash(rm:*)" in settings.read_bytes()
    assert events(settings)


def test_a_link_made_while_the_question_stands_is_not_followed(
    cli: Cli, home: Path, tmp_path: Path
) -> None:
    settings, other = home / ".claude" / "settings.json", tmp_path / "other.json"
    other.write_bytes(CLAUDE)

    def swap_and_agree() -> str:
        settings.unlink()
        settings.symlink_to(other)
        return "y\n"

    seen = at_a_terminal(cli, "init", "claude", answers=(swap_and_agree,))
    assert seen.status == 13, seen.screen
    assert other.read_bytes() == CLAUDE


def test_the_agents_own_variables_say_where_their_settings_are(cli: Cli, tmp_path: Path) -> None:
    env = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "c"),
        "CODEX_HOME": str(tmp_path / "x"),
        "GEMINI_CLI_HOME": str(tmp_path / "g"),
    }
    cli.run("init", "claude", "codex", "gemini", "--yes", env=env)
    assert events(tmp_path / "c" / "settings.json")
    assert events(tmp_path / "x" / "hooks.json")
    assert events(tmp_path / "g" / ".gemini" / "settings.json")
