"""The site: results, notebooks and reference as a book that opens from disk, built by Sphinx."""
