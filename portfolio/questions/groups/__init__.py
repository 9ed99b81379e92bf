"""Questions about groups of rows: shared actions and audits."""
