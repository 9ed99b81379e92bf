"""Part of counterfolio: the finite-domain problem and its solvers; knows no other part."""
