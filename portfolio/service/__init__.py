"""Explainers over HTTP: an application that asks, the workers that answer, and a client."""
