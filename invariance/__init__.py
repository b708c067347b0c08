"""Learning with invariances: groups, invariant kernels, feature maps and spectral averaging."""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from .core.config import config_context

__version__ = version("invariance")

#: Imported when first asked for, so that ``import invariance; invariance.kernels`` works and what
#: is not used costs nothing.
_SUBPACKAGES = (
    "beyond",
    "datasets",
    "evaluation",
    "features",
    "groups",
    "kernels",
    "linear",
    "spectral",
    "theory",
)

__all__ = [*_SUBPACKAGES, "config_context"]


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBPACKAGES])
