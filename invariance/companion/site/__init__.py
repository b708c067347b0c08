"""The site: pages on papers, claims, notebooks and the library, built by Sphinx."""
