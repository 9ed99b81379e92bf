"""Kernels as plain Python functions, for the time until their machine code has been compiled.

Python takes about a hundred times as long as machine code. A small query is answered in seconds all
the same, while compiling everything takes a minute.
"""

import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher


class Interpreter:
    """Switch of one process: whether Python runs the kernels that are not compiled yet.

    Thread safe.
    """

    def __init__(self) -> None:
        self._compiling: Callable[[], bool] = lambda: False

    def run_while(self, compiling: Callable[[], bool]) -> None:
        """Let Python run kernels as long as a function returns true."""
        self._compiling = compiling

    @property
    def runs(self) -> bool:
        """True if Python runs kernels at the moment."""
        return self._compiling()


@cache
def interpreter() -> Interpreter:
    """Return the switch of this process."""
    return Interpreter()


def interpreted_meanwhile(compiled: Any) -> Any:
    """Let Python run a function where numba would compile or load it now; return the function.

    numba calls ``_compile_for_args`` for argument types that it has no code for, and then what this
    returns (``numba/_dispatcher.cpp``, compile_and_invoke). Loaded code is called directly.
    """
    compile_for_args = compiled._compile_for_args

    def code_for(*args: Any, **keywords: Any) -> Any:
        if interpreter().runs:
            return plain(compiled)
        return compile_for_args(*args, **keywords)

    compiled._compile_for_args = code_for
    return compiled


def plain(compiled: Any) -> Callable[..., Any]:
    """Return a kernel as a Python function that calls no compiled function."""
    function = _names(compiled.py_func.__module__)[compiled.py_func.__name__]

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):  # as compiled code does
            return function(*args)

    return run


@cache
def _names(module: str) -> dict[str, Any]:
    """Return the names of a module, with Python functions instead of compiled ones."""
    names = dict(vars(sys.modules[module]))
    for name, value in list(names.items()):
        if isinstance(value, Dispatcher):
            function = value.py_func
            inside = names if function.__module__ == module else _names(function.__module__)
            names[name] = FunctionType(
                function.__code__, inside, function.__name__, function.__defaults__
            )
    return names
