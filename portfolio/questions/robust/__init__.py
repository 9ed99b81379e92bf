"""What a decision and an answer withstand."""
