"""The names of a report's files, and the version of the report that they contain."""

PAGE, NUMBERS = "report.html", "report.json"
#: Raise this when the content or look of a report changes, so that stored reports are made again.
VERSION = 5
