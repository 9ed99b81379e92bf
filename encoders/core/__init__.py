"""Arrays, compilation, errors and files: the ground on which all other packages stand."""
