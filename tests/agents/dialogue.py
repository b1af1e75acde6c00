"""What an agent says to its model, whatever the protocol: who said what, in which order.

H human   a assistant   r the result of a tool   i what the agent put in by itself
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HUMAN, ASSISTANT, RESULT, INJECTED = "H", "a", "r", "i"

# Texts that agents send in the person's name although no person wrote them.
_INJECTED = re.compile(
    r"\s*(?:<(?:system-reminder|environment_context|environment_details|user_instructions|"
    r"permissions|skills|collaboration_mode|INSTRUCTIONS|session_context|local-command|command-|bash-|"
    r"task-notification|user-prompt-submit-hook|apps_instructions|plugins|turn_aborted|"
    r"state_snapshot|hook_context|qwen:user-prompt-submit-context)|# AGENTS\.md instructions|"
    r"This is the Gemini CLI|\[Request interrupted|Caveat: The messages below)",
    re.IGNORECASE,
)
# What an agent puts around a person's words, in the same text.
_PUT_AROUND = re.compile(
    r"<current_datetime>[^<]*</current_datetime>\s*|\s*<system_reminder>.*?</system_reminder>",
    re.DOTALL,
)


@dataclass
class Dialogue:
    """The history that one request holds, and whether the model was offered tools."""

    stream: bool = False
    tools: int = 0
    model: str = ""
    said: list[tuple[str, str]] = field(default_factory=list)

    def add(self, kind: str, text: str = "") -> None:
        self.said.append((kind, text))

    def add_human(self, texts: Iterable[str]) -> None:
        """Adds what a person wrote; what the agent put in beside it is left out."""
        given = [_PUT_AROUND.sub("", text) for text in texts]
        written = [text for text in given if text.strip() and not _INJECTED.match(text)]
        self.add(HUMAN if written else INJECTED, "\n".join(written))

    @property
    def kinds(self) -> str:
        return "".join(kind for kind, _ in self.said)

    @property
    def humans(self) -> list[str]:
        return [text for kind, text in self.said if kind == HUMAN]

    @property
    def rounds(self) -> int:
        """How often the model has answered since a person last spoke.

        Calls made side by side are one answer: only a result ends it.
        """
        after = self.kinds[self.kinds.rfind(HUMAN) + 1 :].replace(INJECTED, "")
        return len(re.findall(f"{ASSISTANT}+", after))


def texts(content: object) -> list[str]:
    """Returns the texts of a string, or of a list of parts that may have one."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in tables(content) if isinstance(part.get("text"), str)]


def tables(value: object) -> Sequence[Mapping[str, Any]]:
    """Returns the objects of a list, nothing for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
