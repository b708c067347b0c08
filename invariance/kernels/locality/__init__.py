"""`Locality`: polynomial kernels of local features at several spatial scales."""

from .kernel import Locality

__all__ = ["Locality"]
