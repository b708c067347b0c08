"""The site: results, notebooks and reference as a book that opens from disk, built by Sphinx."""

from .build import build_site
from .material import SiteError

__all__ = ["SiteError", "build_site"]
