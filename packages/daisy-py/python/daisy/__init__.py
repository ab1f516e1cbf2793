"""daisy runs a function over every block of a volume that does not fit in memory."""
