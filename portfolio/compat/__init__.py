"""Part of counterfolio: interfaces in the shape of other libraries."""
