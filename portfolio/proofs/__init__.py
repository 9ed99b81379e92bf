"""The record that a third party checks, and the checker."""
