"""HTTP service of counterfolio: an application, its worker processes, and clients."""
