"""Questions besides the cheapest change: each composes what explain is made of."""
