"""Experiments on utility: how good releases are, apart from how fast they are made."""
