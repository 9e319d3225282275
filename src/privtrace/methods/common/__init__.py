"""What methods share: counts and measurements, cleaning, and placing points in cells."""
