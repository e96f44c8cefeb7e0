"""Answers from files of every form: any table, the export ``long``, a bundle, and what the API returned."""
