"""Figure that notebooks display without pyplot."""

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """Matplotlib figure that is not registered with pyplot and need not be closed."""

    def _repr_png_(self) -> bytes:
        """Return a PNG for notebooks."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
