"""Connects Qwen Code, which has its settings as Claude Code does, with limits in milliseconds."""

from __future__ import annotations

from takeback.adapters.claude.connection import ClaudeConnection, House, all_but
from takeback.adapters.hook_settings import Hook
from takeback.adapters.qwen import adapter
from takeback.handover import BESIDE
from takeback.model.agent import Capabilities

_READING = (
    "read_file|read_mcp_resource|list_directory|glob|grep_search|lsp|tool_search|web_fetch|"
    "web_search|todo_write|ask_user_question|list_agents|task_list|get_goal"
)

connection = ClaudeConnection(
    House(
        adapter,
        "Qwen Code",
        local="settings.json",
        chats="chats",
        hooks=(
            Hook("SessionStart", 15_000),
            Hook("UserPromptSubmit", 15_000),
            # Only this one has the words of a command as they were typed.
            Hook("UserPromptExpansion", 15_000, "^takeback$"),
            Hook("PreToolUse", 10_000, all_but(_READING), (BESIDE,)),
            Hook("PostToolBatch", 15_000, words=(BESIDE,)),
            Hook("PostToolUseFailure", 15_000),  # the only one that tells of Esc
            Hook("SubagentStop", 15_000),
            Hook("Stop", 15_000),
            Hook("StopFailure", 15_000),
            Hook("PreCompact", 15_000),
            Hook("SessionEnd", 10_000),
        ),
        capabilities=Capabilities(
            inside="`/takeback`",
            resumes="`qwen --resume=NEW`",
            tested="0.24.4",
        ),
    )
)
