"""How long queries take: loops that ask and time them, and percentiles with intervals.

A query is measured alone, on a monotonic clock. In the closed loop the next is asked when the last was answered; in the
open loop queries come at times that are fixed beforehand, and waiting for a free worker counts.
"""
