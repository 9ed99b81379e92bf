"""Language rules for texts and names of the project."""
