"""Notebooks that run in a reader's browser: a copy of JupyterLite, Pyodide and this package."""
