"""Hard voting: every tree of a fitted forest casts one vote, the majority decides."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from encoders.arrays import FloatArray


class HardVotingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Majority vote of a forest's trees; ties go to the lowest class.

    Each tree votes for the argmax of its own class probabilities (again lowest class first).

    Parameters
    ----------
    forest : RandomForestClassifier or ExtraTreesClassifier
        ``fit`` trains a clone of it; :meth:`from_fitted` takes one as it is.

    Attributes
    ----------
    forest_ : the fitted forest
    classes_ : array of shape (n_classes,)
    """

    def __init__(self, forest: Any) -> None:
        self.forest = forest

    @classmethod
    def from_fitted(cls, forest: Any) -> "HardVotingClassifier":
        """Let the trees of an already fitted forest vote, without training anything.

        Parameters
        ----------
        forest : taken as it is, not copied

        Raises
        ------
        NotFittedError
            It is not fitted (scikit-learn's).
        """
        check_is_fitted(forest)
        return cls(forest)._adopt(forest)

    def fit(self, X: Any, y: Any) -> "HardVotingClassifier":
        """Fit a clone of ``forest``.

        Parameters
        ----------
        X : (n_rows, n_columns), as the forest takes it
        y : (n_rows,), labels
        """
        return self._adopt(clone(self.forest).fit(X, y))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags; missing values are taken where the forest takes them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.forest).input_tags.allow_nan
        return tags

    def _adopt(self, forest: Any) -> "HardVotingClassifier":
        self.forest_ = forest
        self.classes_ = forest.classes_
        self.n_features_in_ = forest.n_features_in_
        if hasattr(forest, "feature_names_in_"):
            self.feature_names_in_ = forest.feature_names_in_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the votes, shape (n_rows, n_classes).

        Parameters
        ----------
        X : (n_rows, n_columns), rounded to float32; values may be missing if the forest takes that

        Raises
        ------
        NotFittedError
            It is not fitted (scikit-learn's).
        """
        check_is_fitted(self, "forest_")
        # The trees compare float32 values, so convert once here instead of in every tree.
        gaps = "allow-nan" if get_tags(self.forest_).input_tags.allow_nan else True
        rows = validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite=gaps)
        votes = np.zeros((rows.shape[0], len(self.classes_)))
        for tree in self.forest_.estimators_:
            ballot = tree.tree_.predict(rows).argmax(axis=1)
            votes[np.arange(rows.shape[0]), ballot] += 1
        return votes / len(self.forest_.estimators_)

    def predict(self, X: Any) -> Any:
        """The class with most votes, ties to the lowest class.

        Parameters
        ----------
        X : (n_rows, n_columns), rounded to float32; values may be missing if the forest takes that

        Returns
        -------
        Labels, (n_rows,).

        Raises
        ------
        NotFittedError
            It is not fitted (scikit-learn's).
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
