"""What the tests of reading share."""

import pytest
from sklearn.datasets import load_breast_cancer


@pytest.fixture(scope="session")
def tumours():
    return load_breast_cancer(return_X_y=True, as_frame=True)
