"""Pictures of one answer and of many."""
