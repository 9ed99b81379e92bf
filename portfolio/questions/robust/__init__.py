"""Robustness of predictions, and counterfactuals that withstand variations."""
