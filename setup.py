"""Wheels that bring machine code along; all else that there is to say is in ``pyproject.toml``.

``COUNTERFOLIO_MACHINE_CODE`` names a Python that has this project's dependencies. Without it a
wheel is plain: for any machine, and compiled where it is used first.
"""

import os
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

PYTHON = os.environ.get("COUNTERFOLIO_MACHINE_CODE")


class _BuildWithCode(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            command = [PYTHON, "-B", "-m", "portfolio.engine.ship"]
            # pip hides by this path what is installed.
            own = {name: said for name, said in os.environ.items() if name != "PYTHONPATH"}
            subprocess.run(command, cwd=self.build_lib, env=own, check=True)


class _ForOnePlatform(Distribution):
    def has_ext_modules(self) -> bool:
        return True


if PYTHON:
    setup(cmdclass={"build_py": _BuildWithCode}, distclass=_ForOnePlatform)
else:
    setup()
