"""Fit walks to noisy measurements, by comparing what they do with what was measured. Post-processing."""
