"""What all doors over HTTP share: where they listen, whom they let in, and how much."""
