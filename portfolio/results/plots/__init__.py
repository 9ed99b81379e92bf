"""Plots of one answer and of many."""
