"""Counterfactuals in the shape of DiCE (``dice_ml``), with proofs."""

from portfolio.compat.dice import Dice as Dice
from portfolio.compat.dice_answers import CounterfactualExamples as CounterfactualExamples
from portfolio.compat.dice_answers import CounterfactualExplanations as CounterfactualExplanations
