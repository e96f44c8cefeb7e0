"""The sections of a report: a module for each, whose ``make_section`` makes it from a `Source`."""
