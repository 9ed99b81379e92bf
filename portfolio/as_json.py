"""What every answer has that can be told as plain values."""

import json
from abc import abstractmethod
from typing import Any


class AsJson:
    """An answer that is told as JSON."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""

    def to_json(self) -> str:
        """:meth:`to_dict` as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)
