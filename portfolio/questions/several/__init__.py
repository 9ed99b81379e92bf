"""Several answers, fronts, and which answer of equals comes first."""
