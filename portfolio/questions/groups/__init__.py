"""Many rows together: actions that they share, and audits."""
