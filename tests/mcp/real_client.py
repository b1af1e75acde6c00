"""The real client library of the Model Context Protocol, asking what is on stdin.

Run with that library on PYTHONPATH: ``real_client.py COMMAND...``, with a JSON list of calls on
stdin, each a tool's name and its arguments. Prints what the server said.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters


async def main(command: list[str]) -> dict[str, Any]:
    given = json.load(sys.stdin)
    server = StdioServerParameters(
        command=command[0], args=command[1:], env=given["env"], cwd=os.getcwd()
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        answers = [await client.call_tool(name, arguments) for name, arguments in given["calls"]]
        return {
            "version": client.protocol_version,
            "tools": {tool.name: tool.annotations.read_only_hint for tool in tools},
            "answers": [[one.is_error, one.content[0].text] for one in answers],
        }


if __name__ == "__main__":
    json.dump(asyncio.run(main(sys.argv[1:])), sys.stdout)
