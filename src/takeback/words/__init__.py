"""The same words in every face: plans, outcomes, turns and sessions as lines and as JSON."""
