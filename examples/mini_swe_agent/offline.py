"""Stands in for a model: "write a.txt 1" has it run a command, and then it is done."""

from minisweagent.models.test_models import DeterministicModel, make_output

seen = []
"""The prompts in each request."""

DONE = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class Offline(DeterministicModel):
    def query(self, messages, **options):
        prompts = [one for one in messages if one["role"] == "user" and "extra" not in one]
        seen.append([one["content"] for one in prompts])
        if messages[-1] is not prompts[-1]:
            return make_output("Done.", [{"command": DONE}])
        _, path, text = prompts[-1]["content"].split()
        return make_output("Writing.", [{"command": f"printf {text} > {path}"}])


model = Offline(outputs=[])
