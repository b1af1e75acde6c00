"""Scribe fulfils what takeback asks of every agent."""

import takeback_scribe

from takeback.testing import AgentContract

SESSION = "7c1f7f0e-5a49-4b21-9d64-3f9f4d9a2c11"
ABOUT = {"session": SESSION, "directory": "/home/dev/project", "turn": "t1", "pid": 1}


class TestScribe(AgentContract):
    agent = takeback_scribe.agent
    payloads = (
        {**ABOUT, "what": "asked", "text": "write it", "file": "/home/dev/.scribe/s.jsonl"},
        {**ABOUT, "what": "worked"},
        {**ABOUT, "what": "answered"},
        {**ABOUT, "what": "coughed"},
    )
    transcript = b'{"turn":"t1","by":"person","text":"write it"}\n'
    native = SESSION
