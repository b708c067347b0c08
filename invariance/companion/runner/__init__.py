"""Run notebooks: places and processes, attempts, and which results can be kept."""
