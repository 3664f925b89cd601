"""Rounds of block-wise evaluation."""
