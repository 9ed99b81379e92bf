"""The Explainer and its methods."""
