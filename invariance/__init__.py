"""Learning with invariances: groups, invariant kernels, feature maps and spectral averaging."""

from importlib.metadata import version

__version__ = version("invariance")
