"""Run one function over many parts: the only place that knows of threads."""
