"""The endpoint: one address that takes every operation by POST, as JSON 1.1."""

import errno
import json
import logging
import uuid
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from marketplace import clock
from marketplace.operations.registry import Call, handlers
from marketplace.wire import faults, service, sigv4, throttling
from marketplace.wire.errors import ProtocolError, ServiceFault, WireError
from marketplace.wire.keys import authenticate

logger = logging.getLogger(__name__)


@csrf_exempt
def endpoint(request: HttpRequest) -> HttpResponseBase:
    """Authenticates, carries out, answers. Whatever goes wrong is answered in AWS's shape."""
    operation = ""
    try:
        if request.method != "POST":
            raise ProtocolError("MethodNotAllowedException", "This address takes POST requests.", status=405)
        _check_way_in(request)
        signed = _signed(request)
        target = signed.headers.get("x-amz-target", "")
        requester = authenticate(signed)
        if target.startswith(faults.TARGET):
            return _json(json.dumps(faults.control(target, service.read_body(signed.body))).encode())
        operation = service.operation_of(target)
        throttling.take_token(requester.pk)
        faults.before(operation)
        parameters = service.parameters_of(operation, service.read_body(signed.body))
        key = sigv4.read_claim(signed).access_key_id
        call = Call(requester=requester, parameters=parameters, now=clock.now(), operation=operation, access_key=key)
        body = _carry_out(call)
    except WireError as error:
        return _refusal(error)
    except Exception:  # a client must get a fault in AWS's shape, and the log the reason
        logger.exception("The operation %s failed.", operation or "(none)")
        return _refusal(ServiceFault())
    if faults.response_is_lost(operation):
        return _broken_connection(request, body)
    return _json(body)


def _carry_out(call: Call) -> bytes:
    handler = handlers().get(call.operation)
    if handler is None:
        raise ProtocolError("NotImplementedException", f"{call.operation} is not implemented here.", status=501)
    return service.write_result(call.operation, handler(call))


def _check_way_in(request: HttpRequest) -> None:
    """What Django's middleware would answer with a page or a redirection, which no client of the API understands."""
    try:
        request.get_host()
    except DisallowedHost:
        message = "This server does not answer to the host name of the request; see HITSERVER_ALLOWED_HOSTS."
        raise ProtocolError("InvalidHostException", message) from None
    if "Transfer-Encoding" in request.headers:  # Django would take the body for an empty one
        raise ProtocolError("LengthRequiredException", "Send the body with its Content-Length.", status=411)
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise ProtocolError("InsecureTransportException", "This endpoint is reached by https only.", status=403)


def _signed(request: HttpRequest) -> sigv4.Request:
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        body = request.body
    except RequestDataTooBig:
        message = f"A request has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes."
        raise ProtocolError("RequestEntityTooLargeException", message, status=413) from None
    except UnreadablePostError:
        raise ProtocolError("SerializationException", "The request ended early.") from None
    path = request.META.get("RAW_URI", "").partition("?")[0] or request.path
    query = request.META.get("QUERY_STRING", "")
    return sigv4.Request(method=request.method or "", path=path, query=query, headers=headers, body=body)


def _refusal(error: WireError) -> HttpResponse:
    """MTurk's messages end in the time in milliseconds; the code beside it is what scripts look for."""
    content: dict[str, Any] = {"__type": error.type}
    if error.code:
        milliseconds = int(timezone.now().timestamp() * 1000)
        content |= {"Message": f"{error.message} ({milliseconds} s {error.code})", "TurkErrorCode": error.code}
    else:
        content["message"] = error.message
    return _json(json.dumps(content).encode(), status=error.status)


def _json(body: bytes, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(body, status=status, content_type=service.content_type())
    response["Content-Length"] = str(len(body))  # else the connection would carry it in chunks
    response["x-amzn-RequestId"] = str(uuid.uuid4())
    response["Cache-Control"] = "no-store"
    return response


def _broken_connection(request: HttpRequest, body: bytes) -> StreamingHttpResponse:
    """No answer, for the fault of that name: the connection ends, though everything was done.

    gunicorn closes it without a byte when this error comes before the first. The server of Django's tests would answer
    with a page; there it ends in the middle. (A client may take an answer that is cut off for a whole one.)
    """

    def beginning() -> Iterator[bytes]:
        if "gunicorn.socket" not in request.META:
            yield body[:1]
        raise ConnectionResetError(errno.ECONNRESET, "This fault was ordered.")

    response = StreamingHttpResponse(beginning(), content_type=service.content_type())
    response["Content-Length"] = str(len(body) + 1)
    return response
