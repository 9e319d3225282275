"""Benchmarks: how fast things are, and how much memory they take. Ratios, since machines are noisy."""
