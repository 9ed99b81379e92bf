"""HTTP clients of the service."""
