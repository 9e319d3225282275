"""Compare synthetic data with real data, and say where the error comes from.

Everything in this folder reads real data and is NOT PRIVATE at any epsilon. Settings chosen by it on the same
private data void the privacy statement.
"""
