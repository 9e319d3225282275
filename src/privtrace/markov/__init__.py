"""Count, measure and clean the moves between states."""
