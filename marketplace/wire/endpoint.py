"""The endpoint: one address that takes every operation by POST, as JSON 1.1."""

import json
import logging
import uuid
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
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
        signed = _signed(request)
        target = signed.headers.get("x-amz-target", "")
        requester = authenticate(signed)
        if target.startswith(faults.TARGET):
            return _json(json.dumps(faults.control(target, service.read_body(signed.body))).encode())
        operation = service.operation_of(target)
        throttling.take_token(requester.pk)
        faults.before(operation)
        parameters = service.parameters_of(operation, service.read_body(signed.body))
        call = Call(requester=requester, parameters=parameters, now=clock.now(), operation=operation)
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
    response["x-amzn-RequestId"] = str(uuid.uuid4())
    response["Cache-Control"] = "no-store"
    return response


def _broken_connection(request: HttpRequest, body: bytes) -> StreamingHttpResponse:
    """An answer that ends before it is complete, for the fault of that name."""

    def beginning() -> Iterator[bytes]:
        yield body[:1]
        raise ConnectionAbortedError("This fault was ordered.")

    response = StreamingHttpResponse(beginning(), content_type=service.content_type())
    response["Content-Length"] = str(len(body) + 1)
    return response
