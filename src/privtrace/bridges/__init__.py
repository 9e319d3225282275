"""Count and measure where traced paths go, what they do next, and how far they come."""
