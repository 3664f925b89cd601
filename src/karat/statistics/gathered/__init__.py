"""The same statistics, bit for bit, from blocks of queries: what is gathered of each can be joined in any order.

Two rounds over the scores are enough. The first finds sums and extents (``outline``), which say to what scale scores
are rounded and what their means are; the second draws resamples and sums squares (``tally``). Ranks of differences need
their order, and are a round of their own (``ranks``).
"""
