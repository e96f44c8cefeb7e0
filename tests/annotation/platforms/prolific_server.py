"""A small Prolific: as much of its API as its public documentation describes and the platform uses.

Each behaviour names the page of docs.prolific.com (“API reference”) that it comes from. Where the pages are silent, an
assumption is marked. Faults: `lose` carries out a request and loses its answer; `answer_with` replaces it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
TOKEN = "a-token"
PER_PAGE = 2


@dataclass
class Answer:
    status: int
    body: Any
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Prolific:
    """The state of one account. ``requests`` has every request as “METHOD path”."""

    currency: str = "USD"
    studies: dict[str, Json] = field(default_factory=dict)
    submissions: dict[str, Json] = field(default_factory=dict)
    bonuses: dict[str, Json] = field(default_factory=dict)
    messages: list[tuple[str, ...]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    lose: str = ""
    answer_with: list[Answer] = field(default_factory=list)
    address: str = ""

    def submit(self, study: str, participant: str, *, status: str = "AWAITING REVIEW", code: str = "") -> str:
        """A participant's submission, as Prolific's own site makes it."""
        name = f"{len(self.submissions):024x}"
        self.submissions[name] = {
            "id": name,
            "study_id": study,
            "participant_id": participant,
            "status": status,
            "started_at": "2026-11-22T10:00:00Z",
            "completed_at": "2026-11-22T10:05:00.123000Z" if status != "ACTIVE" else None,
            "study_code": code or None,
            "bonus_payments": [],
        }
        return name

    def answer(self, method: str, path: str, query: Json, body: Any) -> Answer:
        for pattern, wanted, action in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and wanted == method:
                made: Answer = action(self, *found.groups(), query=query, body=body)
                return made
        return _error(404, "Not Found", "The resource does not exist.")


def _error(status: int, title: str, detail: Any) -> Answer:
    """“API fundamentals” lists the codes; the body's form is that of the official command line's error type."""
    return Answer(status, {"error": {"status": status, "title": title, "detail": detail, "error_code": status * 1000}})


def _me(state: Prolific, query: Json, body: Any) -> Answer:
    """“Users”: amounts are in hundredths of the account's currency."""
    return Answer(200, {"id": "r", "currency_code": state.currency, "balance": 50_000, "available_balance": 45_050})


_NEEDED = ("name", "description", "external_study_url", "prolific_id_option", "completion_codes", "reward")


def _create(state: Prolific, query: Json, body: Any) -> Answer:
    """“Create a draft study”: it is UNPUBLISHED. “The study object”: rewards in cents."""
    missing = [name for name in (*_NEEDED, "total_available_places", "estimated_completion_time") if not body.get(name)]
    if missing:
        return _error(400, "Bad Request", {name: ["This field is required."] for name in missing})
    name = f"{len(state.studies) + 1:024x}"
    state.studies[name] = {"id": name, "status": "UNPUBLISHED", "presentment_currency_code": state.currency, **body}
    return Answer(201, state.studies[name])


def _studies(state: Prolific, *_project: str, query: Json, body: Any) -> Answer:
    """“List all studies”."""
    return _page(state, "studies/", [dict(each) for each in state.studies.values()], query)


def _page(state: Prolific, path: str, rows: list[Json], query: Json) -> Answer:
    """Lists have `results` and, in `_links`, the address of the next page."""
    number = int(query.get("page", ["1"])[0])
    following = f"{state.address}{path}?page={number + 1}" if number * PER_PAGE < len(rows) else None
    links = {"next": {"href": following, "title": "Next"}}
    part = rows[(number - 1) * PER_PAGE : number * PER_PAGE]
    return Answer(200, {"results": part, "_links": links, "meta": {"count": len(rows)}})


def _study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    found = state.studies.get(name)
    return Answer(200, found) if found else _error(404, "Not Found", "No study with this id.")


#: “Transition a study's status”: action → statuses in which it is allowed (assumed), and the status after it.
_ACTIONS = {
    "PUBLISH": (("UNPUBLISHED",), "ACTIVE"),
    "PAUSE": (("ACTIVE",), "PAUSED"),
    "START": (("PAUSED",), "ACTIVE"),
    "STOP": (("ACTIVE", "PAUSED"), "AWAITING REVIEW"),
}


def _transition_study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    study = state.studies.get(name)
    if study is None:
        return _error(404, "Not Found", "No study with this id.")
    allowed, after = _ACTIONS[body["action"]]
    if study["status"] not in allowed:
        return _error(400, "Bad Request", f"You cannot {body['action']} a study that is {study['status']}.")
    study["status"] = after
    return Answer(200, study)


def _update_study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Update a study” (api-reference/studies/update-study).

    That a published study accepts only these two fields, and only more places, is what Mephisto's page “Prolific API
    oddities” reports.
    """
    study = state.studies.get(name)
    if study is None:
        return _error(404, "Not Found", "No study with this id.")
    if set(body) - {"internal_name", "total_available_places"}:
        return _error(400, "Bad Request", "A published study cannot be changed.")
    if body.get("total_available_places", 10**6) < study["total_available_places"]:
        return _error(400, "Bad Request", "Places can only be added.")
    study.update(body)
    return Answer(200, study)


def _submissions_of(state: Prolific, study: str, query: Json, body: Any) -> Answer:
    """“List study submissions”."""
    if study not in state.studies:
        return _error(404, "Not Found", "No study with this id.")
    shown = ("id", "participant_id", "status", "started_at", "completed_at", "study_code")
    rows = [{name: each[name] for name in shown} for each in state.submissions.values() if each["study_id"] == study]
    return _page(state, f"studies/{study}/submissions/", rows, query)


def _submission(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Retrieve a submission”: bonus payments in cents; the participant is called `participant` here."""
    found = state.submissions.get(name)
    if found is None:
        return _error(404, "Not Found", "No submission with this id.")
    return Answer(200, {**found, "participant": found["participant_id"]})


def _transition_submission(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Approve or reject a submission”: idempotent, final, and a rejection needs a category and 100 characters."""
    found = state.submissions.get(name)
    if found is None:
        return _error(404, "Not Found", "No submission with this id.")
    after = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[body["action"]]
    if body["action"] == "REJECT" and (len(body.get("message", "")) < 100 or not body.get("rejection_category")):
        return _error(400, "Bad Request", "A rejection needs a message of at least 100 characters and a category.")
    if found["status"] not in ("AWAITING REVIEW", after):
        return _error(400, "Bad Request", f"The submission is {found['status']}.")
    found["status"] = after
    return Answer(200, {"id": name, "status": after})


def _request_return(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Request the participant who submitted the response to return their response”
    (api-reference/submissions/request-submission-return): a message with the reasons, and `return_requested`."""
    found = state.submissions.get(name)
    if found is None:
        return _error(404, "Not Found", "No submission with this id.")
    if not body.get("request_return_reasons"):
        return _error(400, "Bad Request", {"request_return_reasons": ["This field is required."]})
    found["return_requested"] = "2026-11-22T12:00:00Z"
    state.messages.append((found["participant_id"], *body["request_return_reasons"]))
    return Answer(200, {name: found[name] for name in ("id", "status", "return_requested")})


def _set_up_bonus(state: Prolific, query: Json, body: Any) -> Answer:
    """“Set up bonuses”: pays nothing; ids that took no part in the study are refused with 400."""
    rows = [line.split(",") for line in body["csv_bonuses"].split("\n")]
    strange = [
        who for who, _ in rows if state.submissions.get(who, {}).get("study_id") != body["study_id"]
    ]  # this server names submissions, not participants
    if strange:
        return _error(400, "Bad Request", f"These ids took no part in the study: {', '.join(strange)}")
    name = f"bonus-{len(state.bonuses) + 1}"
    state.bonuses[name] = {"rows": rows, "paid": 0}
    return Answer(201, {"id": name, "study": body["study_id"], "amount": 50, "fees": 17, "total_amount": 67})


def _pay_bonus(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Pay bonuses”: 202 with a text; not idempotent, the same request pays again."""
    for who, amount in state.bonuses[name]["rows"]:
        state.submissions[who]["bonus_payments"].append(round(float(amount) * 100))
    state.bonuses[name]["paid"] += 1
    return Answer(202, f"Bulk bonus payment with ID {name} is being processed asynchronously.")


ROUTES: list[tuple[str, str, Any]] = [
    (r"users/me/", "GET", _me),
    (r"studies/", "POST", _create),
    (r"studies/", "GET", _studies),
    (r"projects/(\w+)/studies/", "GET", _studies),
    (r"studies/(\w+)/", "GET", _study),
    (r"studies/(\w+)/", "PATCH", _update_study),
    (r"studies/(\w+)/transition/", "POST", _transition_study),
    (r"studies/(\w+)/submissions/", "GET", _submissions_of),
    (r"submissions/(\w+)/", "GET", _submission),
    (r"submissions/(\w+)/transition/", "POST", _transition_submission),
    (r"submissions/(\w+)/request-return/", "POST", _request_return),
    (r"submissions/bonus-payments/", "POST", _set_up_bonus),
    (r"bulk-bonus-payments/([\w-]+)/pay/", "POST", _pay_bonus),
]


def _handler(state: Prolific) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def do_PATCH(self) -> None:
            self._serve("PATCH")

        def _serve(self, method: str) -> None:
            parts = urlsplit(self.path)
            path = parts.path.removeprefix("/api/v1/")
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(data) if data else None
            state.requests.append(f"{method} {path}")
            state.bodies.append(body)
            if state.answer_with:
                self._send(state.answer_with.pop(0))
            elif self.headers.get("Authorization") != f"Token {TOKEN}":
                # “API fundamentals”: 401 without a valid token
                self._send(_error(401, "Unauthorized", "Authentication credentials were not provided."))
            else:
                answer = state.answer(method, path, parse_qs(parts.query), body)
                if state.lose and re.fullmatch(state.lose, f"{method} {path}"):
                    state.lose = ""
                    self.close_connection = True
                    self.connection.close()
                else:
                    self._send(answer)

        def _send(self, answer: Answer) -> None:
            text = answer.body if answer.content_type != "application/json" else json.dumps(answer.body)
            data = text.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(data)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def prolific_server(**values: Any) -> Iterator[Prolific]:
    """A running server; its address is in ``address``."""
    state = Prolific(**values)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.address = f"http://127.0.0.1:{server.server_port}/api/v1/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
