"""The tests of all packages."""

import os

# Libraries that train with OpenMP wait for their threads by spinning. Beside a second worker of the
# suite that costs many times what the small models of tests take with one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")
