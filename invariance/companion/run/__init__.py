"""Recording in a notebook: `Run`, records of claims, cached functions, figures and their style."""
