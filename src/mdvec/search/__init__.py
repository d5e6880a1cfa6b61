"""Reading: from a question to hits."""
