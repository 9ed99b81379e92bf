"""Questions with several answers, trade-off curves and tie-breaking."""
