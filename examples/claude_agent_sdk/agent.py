"""An agent of the Claude Agent SDK whose turns can be taken back: the files and the messages.

    pip install takeback claude-agent-sdk
    python agent.py                    # in any directory; as `claude` is, it must be logged in

The SDK runs Claude Code. Its hooks are heard in this program, so that `takeback init` is not
needed; what its shell does is kept too. A rewind writes the conversation as a new session of it.
"""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage, query

from takeback import AsyncTakeback

OPTIONS = ClaudeAgentOptions(permission_mode="acceptEdits", cli_path=shutil.which("claude"))
HOOKS = ("UserPromptSubmit", "PreToolUse", "PostToolBatch", "SubagentStop", "Stop")


def hooks_of(tb):
    async def heard(payload, tool_use_id, context):
        note = (await tb.hear("claude", payload)).note  # of files that takeback changed meanwhile
        said = {"hookEventName": payload["hook_event_name"], "additionalContext": note}
        return {"hookSpecificOutput": said} if note else {}

    return {name: [HookMatcher(hooks=[heard])] for name in HOOKS}


async def ask(tb, prompt, resume=None):
    """One turn of a session of Claude Code, a new one without its id; returns that."""
    options = replace(OPTIONS, hooks=hooks_of(tb), resume=resume)
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            resume = message.session_id
    return resume


async def main():
    async with AsyncTakeback.open(".") as tb:
        one, _ = await asyncio.gather(ask(tb, "write a.txt 1"), ask(tb, "write b.txt 1"))
        await ask(tb, "write a.txt 2", one)
        done = await tb.rewind(f"{one}/turn:2")
        print("a.txt:", Path("a.txt").read_text())
        one = (await tb.resume(done)).native
        await ask(tb, "write a.txt 3", one)  # the model knows of 1 and 3


if __name__ == "__main__":
    asyncio.run(main())
