import os

import pytest

from invariance.companion.runner import batch

from .light import Chaos


@pytest.fixture
def quick(monkeypatch):
    """The runner looks at its processes every half millisecond, so that no test waits for it."""
    monkeypatch.setattr(batch, "_GLANCE", 0.0005)


@pytest.fixture
def chaos(project, quick):
    """Three small notebooks, and the outputs that each must have written."""
    seed = int(os.environ.get("INVARIANCE_CHAOS_SEED", 0))
    print(f"INVARIANCE_CHAOS_SEED={seed}")
    return Chaos(project, seed)
