"""examples/claude_agent_sdk: the real SDK, the real Claude Code, a scripted model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from takeback import Takeback
from tests.agents.claude import Claude
from tests.agents.script import Step
from tests.agents.world import World
from tests.support.pypi import with_packages

EXAMPLE = Path(__file__).parents[2] / "examples" / "claude_agent_sdk" / "agent.py"
PROMPTS = ["write a.txt 1", "write b.txt 1", "write a.txt 2", "write a.txt 3"]


def test_a_rewind_brings_back_files_and_messages_and_two_tasks_run_at_once(
    world: World, installed: Callable[[str], Path], from_pypi: Callable[[str], Path]
) -> None:
    packages = from_pypi("claude-agent-sdk")
    claude = Claude(world, installed("claude"))
    one, other = PROMPTS[:2]
    meets = {one: other, other: one}
    world.model.script = {
        prompt: [
            Step("Writing.", [claude.write(*prompt.split()[1:])], meets=meets.get(prompt, "")),
            Step("Written."),
        ]
        for prompt in PROMPTS
    }
    home = str(world.home / "takeback")
    environ = world.environment({**claude.env, "TAKEBACK_HOME": home})
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=world.repo,
        env=with_packages(environ, packages),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "a.txt: 1\n", "")
    sent = [(request.humans[-1], request.at) for request in world.model.played()]
    began = {prompt: min(at for said, at in sent if said == prompt) for prompt in PROMPTS}
    ended = {prompt: max(at for said, at in sent if said == prompt) for prompt in PROMPTS}
    assert max(began[one], began[other]) < min(ended[one], ended[other])
    last = world.model.first_of(PROMPTS[3])
    assert [text for text in last.humans if text.startswith("write")] == [PROMPTS[0], PROMPTS[3]]
    assert PROMPTS[2] not in last.body

    with Takeback.open(world.repo, environ=environ) as tb:
        turns = {entry.session.id: entry.turns for entry in tb.sessions()}
        assert sorted(turns.values()) == [1, 2, 2]  # a child goes on from its parent's numbers
        [child] = [entry.session for entry in tb.sessions() if entry.session.parent]
        assert child.parent is not None
        assert turns[child.parent] == 2
        assert {path.name: path.read_text() for path in world.repo.glob("[ab].txt")} == {
            "a.txt": "3",
            "b.txt": "1",
        }
        assert [change.who for change in tb.show(f"{child.id}/turn:2").entry.done] == ["tool Write"]
        tb.rewind(f"{child.id}/turn:2")
        assert (world.repo / "a.txt").read_text() == "1"
        assert tb.verify(read_data=True).problems == ()
