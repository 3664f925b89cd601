"""The same evaluation past one machine's memory: in blocks of queries, and on Spark."""
