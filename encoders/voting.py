"""Where model files look for the classifier, whatever the layout of this package."""

from encoders.trees.voting import HardVotingClassifier

__all__ = ["HardVotingClassifier"]
