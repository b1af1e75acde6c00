"""A LangGraph agent whose turns can be taken back: the files by takeback, the messages by both.

    pip install takeback langgraph
    python agent.py                    # in any directory; offline.py stands in for a model

LangGraph has a checkpointer of its own, which keeps the messages. takeback keeps the place in it
with each turn, so that both go back together. Keep its database outside of the workspace.
"""

import asyncio
from pathlib import Path

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from offline import model  # yours: model = init_chat_model("...").bind_tools([...])

from takeback import AsyncTakeback
from takeback.agents import ToolCall


async def think(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


async def write(state: MessagesState, runtime: Runtime):
    [call] = state["messages"][-1].tool_calls
    path, text = call["args"]["path"], call["args"]["text"]
    Path(path).write_text(text)
    await runtime.context.round([ToolCall("write", "edit", (path,))])
    return {"messages": [ToolMessage("written", tool_call_id=call["id"])]}


def wants_tool(state: MessagesState):
    return "write" if state["messages"][-1].tool_calls else END


steps = StateGraph(MessagesState).add_node(think).add_node(write)
steps.add_edge(START, "think").add_edge("write", "think").add_conditional_edges("think", wants_tool)
graph = steps.compile(checkpointer=InMemorySaver())


async def ask(session, prompt):
    """One turn of a session: it begins at a place of the checkpointer, and keeps the next one."""
    async with session.turn(prompt) as turn:
        [place] = turn.messages or [{"thread_id": session.id}]
        said = {"messages": [("user", prompt)]}
        await graph.ainvoke(said, {"configurable": place}, context=turn)
        thread = {"configurable": {"thread_id": place["thread_id"]}}
        turn.messages = [(await graph.aget_state(thread)).config["configurable"]]
    return turn


async def main():
    async with AsyncTakeback.open(".") as tb:
        one, other = tb.session("langgraph"), tb.session("langgraph")
        await asyncio.gather(ask(one, "write a.txt 1"), ask(other, "write b.txt 1"))
        turn = await ask(one, "write a.txt 2")
        one = await tb.resume(await tb.rewind(turn.before))
        print("a.txt:", Path("a.txt").read_text())
        await ask(one, "write a.txt 3")  # the model knows of 1 and 3


if __name__ == "__main__":
    asyncio.run(main())
