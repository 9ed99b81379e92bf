"""Results of queries, their sentences, tables and plots."""
