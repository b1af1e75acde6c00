"""A mini-swe-agent whose turns and steps can be taken back: the files and the messages.

    pip install takeback mini-swe-agent
    python agent.py REPOSITORY...      # offline.py stands in for a model

It is synchronous: tasks are threads. Its only tool is a shell, which does not say what it changes,
so tasks at the same time have a repository each.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from offline import model  # yours: model = get_model("...")

from takeback import Takeback
from takeback.agents import ToolCall

TEMPLATES = {"system_template": "You write files.", "instance_template": "{{task}}"}


class TurnAgent(DefaultAgent):
    """Goes on with what was said before its turn; each of its steps is a checkpoint."""

    def add_messages(self, *messages):
        if not self.messages and self.turn.messages:
            self.messages, messages = self.turn.messages, messages[1:]
        return super().add_messages(*messages)

    def execute_actions(self, message):
        done = super().execute_actions(message)
        self.turn.round([ToolCall("bash", "shell")], conversation=self.messages)
        return done


def ask(session, prompt, directory="."):
    """One turn of a session: it begins with what was said before, and keeps what was said."""
    with session.turn(prompt) as turn:
        agent = TurnAgent(model, LocalEnvironment(cwd=str(directory)), **TEMPLATES)
        agent.turn = turn
        agent.run(prompt)
        turn.messages = [one for one in agent.messages if one["role"] != "exit"]
    return turn


def work(directory):
    with Takeback.open(directory) as tb:
        session = tb.session("mini-swe-agent")
        ask(session, "write a.txt 1", directory)
        turn = ask(session, "write a.txt 2", directory)
        session = tb.resume(tb.rewind(turn.before))
        print("a.txt:", (directory / "a.txt").read_text())
        ask(session, "write a.txt 3", directory)  # the model knows of 1 and 3


if __name__ == "__main__":
    with ThreadPoolExecutor() as threads:
        list(threads.map(work, map(Path, sys.argv[1:])))
