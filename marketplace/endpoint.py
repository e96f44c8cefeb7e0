"""The endpoint: one address for every operation. Clients POST to it in the JSON 1.1 protocol."""

import errno
import json
import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.http.request import UnreadablePostError
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from marketplace import clock, faults
from marketplace.operations import extra_header
from marketplace.operations.registry import Call, handlers
from marketplace.wire import other_services, service, sigv4, test_controls, throttling
from marketplace.wire.errors import ProtocolError, ServiceFault, WireError
from marketplace.wire.keys import authenticate

logger = logging.getLogger(__name__)
PREFIX = "/marketplace/api"


@csrf_exempt
def endpoint(request: HttpRequest) -> HttpResponseBase:
    """Authenticates a request, carries it out and answers it. All errors have AWS's shape."""
    operation = who = ""
    try:
        if request.method != "POST":
            raise ProtocolError("MethodNotAllowedException", "Send a POST request to this address.", status=405)
        _check_way_in(request)
        signed = _signed(request)
        target = signed.headers.get("x-amz-target", "")
        other_services.refuse(target, request.content_type or "")
        requester = authenticate(signed)
        who = requester.name
        if target.startswith(test_controls.TARGET):
            return _json(json.dumps(test_controls.control(target, service.read_body(signed.body))).encode())
        operation = service.operation_of(target)
        throttling.take_token(requester.pk)
        test_controls.apply_faults(operation)
        parameters = service.parameters_of(operation, service.read_body(signed.body))
        key = sigv4.read_claim(signed).access_key_id
        call = Call(requester=requester, parameters=parameters, now=clock.now(), operation=operation, access_key=key)
        handler = handlers().get(operation)
        if handler is None:
            raise ProtocolError("NotImplementedException", f"{operation} is not implemented here.", status=501)
        body = service.write_result(operation, handler(call))
    except other_services.QueryError as error:
        return HttpResponse(error.xml(), status=400, content_type="text/xml")
    except WireError as error:
        reason = f"{error.code.rpartition('.')[2] or error.type}: {error.message}"
        logger.info("Refused %s by %s: %s", operation or "a request", who or "an unknown client", reason)
        return _refusal(error)
    except Exception:  # the client needs a fault in AWS's shape; the log needs the reason
        logger.exception("The operation %s failed.", operation or "(none)")
        return _refusal(ServiceFault())
    if faults.response_is_lost(operation):
        return _broken_connection(request, body)
    response = _json(body)
    for name, value in extra_header.header_for(requester, operation).items():
        response[name] = value
    return response


def _check_way_in(request: HttpRequest) -> None:
    """Django's middleware would answer these with a page or a redirect, which no API client understands."""
    try:
        request.get_host()
    except DisallowedHost:
        message = "This server does not answer to the host name of the request. See HITSERVER_ALLOWED_HOSTS."
        raise ProtocolError("InvalidHostException", message) from None
    if "Transfer-Encoding" in request.headers:  # Django would read the body as empty
        raise ProtocolError("LengthRequiredException", "Send the body with its Content-Length.", status=411)
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise ProtocolError("InsecureTransportException", "Use https to reach this endpoint.", status=403)


def _signed(request: HttpRequest) -> sigv4.Request:
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        body = request.body
    except RequestDataTooBig:
        message = f"A request can have at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes."
        raise ProtocolError("RequestEntityTooLargeException", message, status=413) from None
    except UnreadablePostError:
        raise ProtocolError("SerializationException", "The request ended early.") from None
    path = request.META.get("RAW_URI", "").partition("?")[0] or request.path
    query = request.META.get("QUERY_STRING", "")
    return sigv4.Request(method=request.method or "", path=path, query=query, headers=headers, body=body)


def _refusal(error: WireError) -> HttpResponse:
    """MTurk's messages end with the time in milliseconds. Scripts look for the code next to it."""
    content: dict[str, Any] = {"__type": error.type}
    if error.code:
        milliseconds = int(timezone.now().timestamp() * 1000)
        content |= {"Message": f"{error.message} ({milliseconds} s {error.code})", "TurkErrorCode": error.code}
    else:
        content["message"] = error.message
    return _json(json.dumps(content).encode(), status=error.status)


def _json(body: bytes, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(body, status=status, content_type=service.content_type())
    response["Content-Length"] = str(len(body))  # without it, the server would send the body in chunks
    response["x-amzn-RequestId"] = str(uuid.uuid4())
    response["Cache-Control"] = "no-store"
    return response


def _broken_connection(request: HttpRequest, body: bytes) -> StreamingHttpResponse:
    """The fault `lost_response`: everything was done, but the connection ends without an answer.

    gunicorn closes it without sending a byte if this error comes before the first one. Django's test server would send
    a page instead, so there the answer breaks off in the middle. (A client may mistake that for a complete answer.)
    """

    def beginning() -> Iterator[bytes]:
        if "gunicorn.socket" not in request.META:
            yield body[:1]
        raise ConnectionResetError(errno.ECONNRESET, "This fault was planned.")

    response = StreamingHttpResponse(beginning(), content_type=service.content_type())
    response["Content-Length"] = str(len(body) + 1)
    return response


# --- The way in ---------------------------------------------------------------------------------------------


def endpoint_first(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """The first middleware: requests to the endpoint skip all the others.

    The others redirect, need a session or a form's token, and answer in HTML. API clients can handle none of that.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        is_for_endpoint = False
        if request.path_info.startswith(PREFIX):
            with suppress(Resolver404):
                match = resolve(request.path_info)
                is_for_endpoint = match.func is endpoint
                request.resolver_match = match
        return endpoint(request) if is_for_endpoint else get_response(request)

    return middleware
