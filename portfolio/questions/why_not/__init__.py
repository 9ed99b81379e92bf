"""Explanations of queries without an answer."""
