"""Studies and the people who do them: from items to hits to answers to ratings."""
