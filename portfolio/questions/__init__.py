"""Question methods other than ``explain``, built from the same parts."""
