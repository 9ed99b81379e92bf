"""Fields with rows, as answers write them in JSON; imports pandas only to read a row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from portfolio.results.codec import by_name, member

Values = Mapping[str, Any] | Sequence[Any]  # of a row in JSON


def received(values: Any) -> Any:
    """Return the row with these values; None for None."""
    from portfolio.results.received_row import ReceivedRow

    return None if values is None else ReceivedRow(np.empty(0), None, None, values)


def written_row(name: str, hint: Any = Values) -> Mapping[str, Any]:
    """Return the metadata of a field with a row or None, whose member has another name."""
    return member(
        name=name,
        write=lambda row: None if row is None else by_name(row.named()),
        read=received,
        hint=hint,
    )
