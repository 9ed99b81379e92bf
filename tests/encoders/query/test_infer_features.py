"""Features of a frame: what a group of columns is called."""

import numpy as np
import pandas as pd
import pytest

from encoders.errors import InputError
from encoders.query.infer_features import infer_features


def test_two_groups_of_one_name_are_told_apart():
    code = np.arange(12) % 3
    columns = {f"a_{c}": (code == c) * 1.0 for c in range(3)}
    columns |= {f"a={c}": (code[::-1] == c) * 1.0 for c in range(3)}
    frame = pd.DataFrame(columns)
    space = infer_features(frame)
    assert sorted(f.name for f in space.features) == ["a", "a=*"]
    with pytest.raises(InputError, match="two features are called 'a'"):
        type(space)((space.features[0], space.features[0]), space.columns)
