"""How far a decision reaches."""
