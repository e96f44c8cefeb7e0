"""Requests that were meant for SNS or SQS.

A tool that uses these services sends requests to Amazon, signed with the marketplace's key, unless it has another
address. So `make-key` prints this endpoint's address for both, and this module refuses the requests in a format that
their clients understand.
"""

from xml.sax.saxutils import escape

from marketplace.wire.errors import ProtocolError

FORM = "application/x-www-form-urlencoded"
MESSAGE = (
    "This is the address of a marketplace, which has no {0} service. Set AWS_ENDPOINT_URL_{0} to the address of one."
)


class QueryError(Exception):
    """An error for clients that use AWS's query protocol, such as SNS clients."""

    def xml(self) -> str:
        return (
            '<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type>'
            f"<Code>InvalidAction</Code><Message>{escape(str(self))}</Message></Error></ErrorResponse>"
        )


def refuse(target: str, content_type: str) -> None:
    """Raises QueryError or ProtocolError if the request is for SNS or SQS. Other requests pass."""
    if not target and content_type == FORM:
        raise QueryError(MESSAGE.format("SNS"))
    if target.startswith("AmazonSQS."):
        raise ProtocolError("UnsupportedOperation", MESSAGE.format("SQS"))
