"""Language models, generation runs and suggesters in the console. What they do is in the app generation."""
