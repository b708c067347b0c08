"""What a notebook calls: `Run`, records of claims, cached functions, figures and their style."""
