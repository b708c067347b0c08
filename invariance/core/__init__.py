"""Foundations of all other packages: parameters, arrays of other libraries, memory, threads."""
