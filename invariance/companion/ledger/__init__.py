"""Claims of the papers, verdicts on them, the scoreboard, and whether all of it agrees."""
