"""An editor in small, with the real client library of the Agent Client Protocol.

Run with that library on PYTHONPATH: ``acp_editor.py COMMAND...``, with the environment of the
command, in JSON, as the first line on stdin. Then one request a line, and one answer a line:

    {"new": DIRECTORY}  {"load": [SESSION, DIRECTORY]}  {"prompt": [SESSION, TEXT]}
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse


class Editor:
    """Allows everything, and remembers what it is told."""

    def __init__(self) -> None:
        self.said = ""
        self.commands: list[str] = []

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **more: Any
    ) -> RequestPermissionResponse:
        allowed = next(one for one in options if one.kind.startswith("allow"))
        outcome = AllowedOutcome(outcome="selected", option_id=allowed.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        if update.session_update == "agent_message_chunk":
            self.said += update.content.text
        if update.session_update == "available_commands_update":
            self.commands = [one.name for one in update.available_commands]


async def answered(editor: Editor, agent: Any, asked: dict[str, Any]) -> dict[str, Any]:
    editor.said = ""
    try:
        if "new" in asked:
            made = await agent.new_session(cwd=asked["new"], mcp_servers=[])
            return {"session": made.session_id}
        if "load" in asked:
            session, directory = asked["load"]
            await agent.load_session(cwd=directory, session_id=session, mcp_servers=[])
            return {"session": session}
        session, text = asked["prompt"]
        done = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
        return {"stop": done.stop_reason, "said": editor.said, "commands": editor.commands}
    except acp.RequestError as error:
        return {"error": str(error)}


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def main(command: list[str]) -> int:
    loop = asyncio.get_running_loop()
    line = await loop.run_in_executor(None, sys.stdin.readline)
    editor = Editor()
    async with acp.spawn_agent_process(
        editor, *command, env=json.loads(line), transport_kwargs={"limit": 1 << 26, "stderr": None}
    ) as (agent, process):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        say({"process": process.pid})
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            answer = await answered(editor, agent, json.loads(line))
            say(answer)
    return process.returncode or 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
