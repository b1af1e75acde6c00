"""A desktop shell in a few lines: shows the turns, takes one back, refills the composer.

    python examples/desktop_shell.py [URL SECRET_FILE]

Without arguments it starts a server of its own. A real shell would show this in a window.
"""

import sys

from takeback.client import ApiError, Client


def take_back(tb: Client, workspace: str, target: str) -> str | None:
    plan = tb.plan(workspace, target, scope="files")
    for change in plan.document["written"] + plan.document["deleted"]:
        print(f"    {change['kind']}  {change['path']}")
    refused = plan.document["refused"]
    if not all(input(f"{one['message']}: all the same? (y/n) ") == "y" for one in refused):
        return None
    if refused:
        plan = tb.plan(workspace, target, scope="files", overrides=[r["code"] for r in refused])
    if input("do it? (y/n) ") != "y":
        return None
    tb.carry_out(plan)
    return tb.prompt(workspace, target)


def main() -> int:
    given = sys.argv[1:]
    with Client(given[0], given[1]) if given else Client.start() as tb:
        for workspace in tb.workspaces():
            print(f"\n{workspace['path']}")
            turns = [turn for turn in tb.turns(workspace["id"]) if turn["turn"]][:10]
            for number, turn in enumerate(turns):
                print(f"  {number}  {turn['prompt']}  ({len(turn['changed'])} files)")
            chosen = input("take back which one? (Enter: none) ")
            if chosen.isdigit() and int(chosen) < len(turns):
                try:
                    prompt = take_back(tb, workspace["id"], turns[int(chosen)]["id"])
                    print(f"the composer: {prompt or ''}")
                except ApiError as error:
                    print(f"{error.message}\n{error.hint}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
