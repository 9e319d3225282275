"""Let outputs appear whole or not at all, and leave no temporary file behind, even after a kill."""
