"""A figure that notebooks show by itself."""

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A matplotlib figure that pyplot knows nothing of, so that nobody has to close it."""

    def _repr_png_(self) -> bytes:
        """What a notebook shows where a cell ends with the picture."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
