"""Language models: registered, checked and kept open, and the processes that do so."""
