"""Checks records. Stands alone: numpy, and the library that made the model; nothing of ours.

What is claimed: no admissible row cheaper than ``below`` is decided as wanted. The proof is a
binary tree of boxes. Each of its leaves is closed for a reason that is recomputed here, in whole
numbers, from the library's own dump of the model. ``docs/proofs.md`` has the format, the rules and
why they are sound; another checker can be written from that page.
"""
