"""Estimate trips, origin and destination of paths, from noisy counts."""
