"""The gate: who asks, and who tells. Commands, faces, events and servers ask nothing else.

    asker     who asks for what is done: a person, a model below an agent, or nobody knows
    teller    who tells an event: the agent itself, or a tool of its model
    living    the agents that are there now, as their own events have shown them
    peers     the processes at the other end of a connection
    rules     what a model may do, command by command

Nothing here believes what a caller can choose: a number in an event, a variable, another home's
path. What the kernel says of processes counts; variables only make it stricter.
"""
