"""Start of each interpreter with this folder in PYTHONPATH: hide what Windows lacks."""

from posix_names import hide

hide()
