"""The finite-domain problem of counterfolio and its solvers; imports no other package of ours."""
