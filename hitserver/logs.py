"""How log lines look."""

import logging


class OneLineFormatter(logging.Formatter):
    """One line per event, tracebacks and forged line breaks included, for collectors that read by line."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
