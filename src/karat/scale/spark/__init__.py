"""karat on Spark: sessions, and work that is done where the data is."""
