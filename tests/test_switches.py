"""TAKEBACK=off in a hook's variables: followed if the agent was started with it, else said."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

from tests.support.below import AGENT, BelowAgent
from tests.support.cli import Answer, Cli

OFF = "TAKEBACK=off"


def tell(cli: Cli, event: str, **more: str) -> Answer:
    told = {"hook_event_name": event, "session_id": "s", "cwd": str(cli.directory), **more}
    return cli.ok("hook", "claude", stdin=json.dumps(told).encode())


def prompts(cli: Cli) -> list[str]:
    lines = cli.log()
    return [line["prompt"] for line in reversed(lines) if line["kind"] == "prompt"]


def project_says_off(workspace: Path) -> Path:
    path = workspace / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"env": {"TAKEBACK": "off"}}))
    return path


def test_the_agents_own_switch_is_followed(cli: Cli, workspace: Path) -> None:
    agent = BelowAgent(workspace, {"TAKEBACK": "Off"})
    assert tell(agent, "UserPromptSubmit", prompt="one").stdout == ""
    assert prompts(cli) == []


def test_a_projects_switch_is_not_followed_and_said_once_a_session(
    cli: Cli, workspace: Path
) -> None:
    file = project_says_off(workspace)
    agent = BelowAgent(workspace, settings=(OFF,))
    said = json.loads(tell(agent, "UserPromptSubmit", prompt="one").stdout)["systemMessage"]
    assert f"{file} sets TAKEBACK: that is not followed" in said
    assert tell(agent, "Stop").stdout == ""
    assert tell(agent, "UserPromptSubmit", prompt="two").stdout == ""
    assert prompts(cli) == ["one", "two"]


def test_a_switch_that_nobody_owns_up_to_is_said_too(cli: Cli, workspace: Path) -> None:
    agent = BelowAgent(workspace, settings=(OFF,))
    said = json.loads(tell(agent, "UserPromptSubmit", prompt="one").stdout)["systemMessage"]
    assert "TAKEBACK=off was not said to the agent itself" in said
    assert prompts(cli) == ["one"]


def test_what_will_turn_hooks_off_is_said_while_they_still_run(cli: Cli, workspace: Path) -> None:
    agent = BelowAgent(workspace)
    assert tell(agent, "UserPromptSubmit", prompt="one").stdout == ""
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    said = json.loads(tell(agent, "UserPromptSubmit", prompt="two").stdout)["systemMessage"]
    assert "turns all hooks off (disableAllHooks)" in said
    assert tell(agent, "UserPromptSubmit", prompt="three").stdout == ""


def test_a_projects_home_makes_it_no_less_of_a_workspace(cli: Cli, workspace: Path) -> None:
    """The home directory is no workspace; nor is one that ``only`` does not name."""
    tell(BelowAgent(workspace, settings=(f"HOME={workspace}",)), "UserPromptSubmit", prompt="one")
    assert prompts(cli) == ["one"]
    work = Path(os.environ["HOME"], "work")
    work.mkdir()
    (work / "a.txt").write_text("1\n")
    cli.ok("config", "only", "~/work")
    tell(BelowAgent(work, settings=("HOME=/tmp",)), "UserPromptSubmit", prompt="two")
    assert prompts(Cli(work)) == ["two"]


def test_a_shell_between_is_not_the_agent(cli: Cli, workspace: Path) -> None:
    told = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "one"}
    told["cwd"] = str(workspace)
    hook = shlex.join(map(os.fsdecode, Cli.argv(cli, "hook", "claude")))
    line = f"export {OFF}; printf %s {shlex.quote(json.dumps(told))} | {hook}; true"
    words = [*AGENT, "sh", "-c", f"sh -c {shlex.quote(line)}; true"]
    subprocess.run(words, cwd=workspace, env=cli.environment(), check=True, capture_output=True)
    assert prompts(cli) == ["one"]


def test_an_agent_that_starts_itself_anew_is_the_one_that_was_first(
    cli: Cli, workspace: Path
) -> None:
    """As Gemini does: its child has what a project's .env says."""
    tell(BelowAgent(workspace, settings=(OFF, *AGENT)), "UserPromptSubmit", prompt="one")
    assert prompts(cli) == ["one"]


def test_where_nobody_knows_whose_it_is_it_counts_unless_a_project_has_it(
    cli: Cli, workspace: Path
) -> None:
    """An agent that was started without any variables says nothing."""
    variables = [f"{name}={value}" for name, value in cli.environment().items()]
    words = ["env", "-i", *AGENT, "env", *variables, OFF, *Cli.argv(cli, "hook", "claude")]
    for prompt in ("one", "two"):
        told = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt}
        told["cwd"] = str(workspace)
        stdin = json.dumps(told).encode()
        subprocess.run(words, cwd=workspace, input=stdin, check=True, capture_output=True)
        if prompt == "one":
            assert prompts(cli) == []
            project_says_off(workspace)
    assert prompts(cli) == ["two"]
