"""Runs notebooks: processes and places, attempts that are kept or not, and what is resumed."""
