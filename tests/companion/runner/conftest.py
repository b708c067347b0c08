import os

import pytest

from .light import Chaos


@pytest.fixture
def chaos(project):
    """Three small notebooks, and the outputs that each must have written."""
    seed = int(os.environ.get("INVARIANCE_CHAOS_SEED", 0))
    print(f"INVARIANCE_CHAOS_SEED={seed}")
    return Chaos(project, seed)
