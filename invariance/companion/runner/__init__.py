"""Runs notebooks: parameters, order, processes and places; attempts that are kept or not."""
