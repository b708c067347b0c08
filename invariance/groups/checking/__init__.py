"""The parts of `check_group`: what methods return, the action and the axioms, the measure."""
