"""Regions in which the prediction stays the same."""
