"""Cut space into cells: the public region, grids over it, and their noisy density."""
