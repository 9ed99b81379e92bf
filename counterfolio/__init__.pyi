from portfolio import *  # noqa: F403  (the stub there lists them)

__version__: str
