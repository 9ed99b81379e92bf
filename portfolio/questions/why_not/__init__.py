"""Why there is no answer."""
