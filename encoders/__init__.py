"""The finite-domain problem and its solvers; knows nothing of ``selector`` and ``portfolio``."""
