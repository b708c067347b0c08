import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from invariance.companion.runner import batch

LIGHT = Path(__file__).with_name("light.py")


@pytest.fixture(scope="session")
def light() -> ModuleType:
    """A project without Jupyter; see light.py."""
    spec = spec_from_file_location("light", LIGHT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def quick(monkeypatch):
    """The runner looks at its processes every half millisecond, so that no test waits for it."""
    monkeypatch.setattr(batch, "_GLANCE", 0.0005)


@pytest.fixture
def chaos(light, project, quick):
    """Three small notebooks, and what each of them has to have written."""
    seed = int(os.environ.get("INVARIANCE_CHAOS_SEED", 0))
    print(f"INVARIANCE_CHAOS_SEED={seed}")
    return light.Chaos(project, seed)
