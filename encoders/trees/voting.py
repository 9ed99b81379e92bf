"""Hard voting: every tree of a fitted forest has one vote, and the majority decides."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from encoders.core.arrays import FloatArray


class HardVotingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Majority vote of a forest's trees; ties go to the lowest class.

    Each tree votes for its most probable class; ties of probabilities go to the lowest class, too.

    Parameters
    ----------
    forest : RandomForestClassifier or ExtraTreesClassifier
        The forest, fitted or not: :meth:`fit` trains a clone, :meth:`from_fitted` copies nothing.

    Attributes
    ----------
    forest_ : RandomForestClassifier or ExtraTreesClassifier
        The fitted forest.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Examples
    --------
    >>> from counterfolio import HardVotingClassifier
    >>> voting = HardVotingClassifier.from_fitted(model)
    >>> voting.predict_proba(X_train.iloc[:1])
    array([[0.25, 0.75]])
    """

    def __init__(self, forest: Any) -> None:
        self.forest = forest

    @classmethod
    def from_fitted(cls, forest: Any) -> "HardVotingClassifier":
        """Return a fitted classifier from an already fitted forest, without training.

        Parameters
        ----------
        forest : RandomForestClassifier or ExtraTreesClassifier
            The fitted forest; it is not copied.

        Returns
        -------
        HardVotingClassifier
            The fitted classifier.

        Raises
        ------
        NotFittedError
            If the forest is not fitted.

        Examples
        --------
        >>> from counterfolio import HardVotingClassifier
        >>> HardVotingClassifier.from_fitted(model).classes_.tolist()
        ['granted', 'refused']
        """
        check_is_fitted(forest)
        return cls(forest)._adopt(forest)

    def fit(self, X: Any, y: Any) -> "HardVotingClassifier":
        """Fit a clone of ``forest``.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns)
            Training rows, as the forest accepts them.
        y : array_like of shape (n_rows,)
            Class labels.

        Returns
        -------
        HardVotingClassifier
            The classifier itself.

        Examples
        --------
        >>> from counterfolio import HardVotingClassifier
        >>> voting = HardVotingClassifier(model).fit(X_train, y)
        >>> voting.forest_ is model, len(voting.forest_.estimators_)
        (False, 8)
        """
        return self._adopt(clone(self.forest).fit(X, y))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags; missing values are accepted if the forest accepts them."""
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
        """Return the share of votes for each class.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns)
            Rows, which are rounded to float32. Values may be missing if the forest accepts this.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
            The shares of votes.

        Raises
        ------
        NotFittedError
            If the classifier is not fitted.

        Examples
        --------
        >>> from counterfolio import HardVotingClassifier
        >>> HardVotingClassifier.from_fitted(model).predict_proba(X_train.iloc[:3]).tolist()
        [[0.25, 0.75], [0.125, 0.875], [0.0, 1.0]]
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
        """Return the class with the most votes; ties go to the lowest class.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns)
            Rows, which are rounded to float32. Values may be missing if the forest accepts this.

        Returns
        -------
        ndarray of shape (n_rows,)
            The class labels.

        Raises
        ------
        NotFittedError
            If the classifier is not fitted.

        Examples
        --------
        >>> from counterfolio import HardVotingClassifier
        >>> HardVotingClassifier.from_fitted(model).predict(X_train.iloc[:3]).tolist()
        ['refused', 'refused', 'refused']
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
