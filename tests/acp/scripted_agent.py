"""An agent that speaks the Agent Client Protocol and does what its prompts say.

    write NAME TEXT    by a tool, and says so
    say BYTES          writes so many bytes as one line
    echo               answers with the line of the prompt itself
    run COMMAND        runs a command, and says what it said
    flood LINES        writes so many lines and ends
    hang               does not answer
    fail               answers with an error
    cancel             answers that it was cancelled

What it reads goes to the file in its first argument as it came.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def tell(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, **fields: Any) -> None:
    tell(method="session/update", params={"sessionId": session, "update": fields})


def ran(command: str) -> str:
    done = subprocess.run(
        command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout.decode()


def obey(line: str, message: dict[str, Any]) -> None:
    session, blocks = message["params"]["sessionId"], message["params"]["prompt"]
    what, *words = blocks[-1]["text"].split()
    if what == "hang":
        return
    if what == "write":
        name, text = words
        call = {"toolCallId": name, "kind": "edit", "locations": [{"path": name}]}
        update(session, sessionUpdate="tool_call", status="pending", **call)
        Path(name).write_text(text)
        update(session, sessionUpdate="tool_call_update", toolCallId=name, status="completed")
    if what == "flood":
        sys.stdout.write(("x" * 999 + "\n") * int(words[0]))
        sys.exit(0)
    if what == "say":
        sys.stdout.write("x" * int(words[0]) + "\n")
    if what in ("echo", "run"):
        said = {"type": "text", "text": line if what == "echo" else ran(" ".join(words))}
        update(session, sessionUpdate="agent_message_chunk", content=said)
    if what == "fail":
        tell(id=message["id"], error={"code": -32000, "message": "as you wish"})
    else:
        tell(
            id=message["id"], result={"stopReason": "cancelled" if what == "cancel" else "end_turn"}
        )


def main(log: str) -> None:
    heard = open(log, "ab", buffering=0)  # noqa: SIM115, it is open to the end
    for line in sys.stdin.buffer:
        heard.write(line)
        try:
            message = json.loads(line)
            method = message.get("method")
        except (ValueError, AttributeError, RecursionError):
            continue
        if method == "session/new":
            tell(id=message["id"], result={"sessionId": "s1"})
        elif method == "session/commands":
            update(
                "s1", sessionUpdate="available_commands_update", availableCommands=message["params"]
            )
        elif method == "session/prompt":
            with suppress(KeyError, TypeError):  # not every test sends a whole one
                obey(line.decode(), message)
        elif method is not None and "id" in message:
            tell(id=message["id"], result={})


if __name__ == "__main__":
    main(sys.argv[1])
