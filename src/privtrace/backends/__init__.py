"""Run one function over many parts, side by side: the only place that makes threads for kernels."""
