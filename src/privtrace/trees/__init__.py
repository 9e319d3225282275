"""Describe movement by prefix trees on hierarchical reference systems."""
