"""A small Prolific: as much of its API as its public documentation describes and the platform uses.

Each behaviour names the page of docs.prolific.com (“API reference”) that it comes from; what a request must look like
is in `prolific_spec`. Where the pages are silent, an assumption is marked. Faults: `lose` carries out a request and
loses its answer; `answer_with` replaces it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.annotation.recruiting import prolific_spec as spec

Json = dict[str, Any]
TOKEN = "a-token"
PER_PAGE = 2
WORKSPACE, PROJECT = "workspace1", "project1"


class NotOffered(Exception):
    """A participant cannot start: the study is not active, is full, or has as many at once as it allows."""


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
    available: int = 45_050
    vat: float = 0.0
    workspaces: tuple[str, ...] = (WORKSPACE,)
    studies: dict[str, Json] = field(default_factory=dict)
    submissions: dict[str, Json] = field(default_factory=dict)
    bonuses: dict[str, Json] = field(default_factory=dict)
    messages: list[tuple[str, ...]] = field(default_factory=list)
    groups: dict[str, Json] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    subscriptions: dict[str, Json] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    lose: str = ""
    slow_approvals: bool = False
    answer_with: list[Answer] = field(default_factory=list)
    address: str = ""
    token: str = TOKEN

    # --- what participants do on Prolific's own site ---

    def submit(self, study: str, participant: str, *, status: str = "AWAITING REVIEW", code: str = "") -> str:
        """A participant's submission, whatever the study's limits."""
        assert status in spec.SUBMISSION_STATUSES, status
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
            "has_siblings": False,
            "return_requested": None,
        }
        return name

    def start(self, study: str, participant: str) -> str:
        """A participant starts, as far as the study's places and `submissions_config` allow. Raises NotOffered."""
        there = self.studies[study]
        rows = [each for each in self.submissions.values() if each["study_id"] == study]
        config = there.get("submissions_config") or {}
        at_once = config.get("max_concurrent_submissions", -1)
        each_most = config.get("max_submissions_per_participant", 1)
        mine = [each for each in rows if each["participant_id"] == participant]
        full = self.taken(study) >= there["total_available_places"]
        busy = at_once != -1 and sum(each["status"] in ("ACTIVE", "RESERVED") for each in rows) >= at_once
        if there["status"] != "ACTIVE" or full or busy or (each_most != -1 and len(mine) >= each_most):
            raise NotOffered
        return self.submit(study, participant, status="ACTIVE")

    def taken(self, study: str) -> int:
        """Schema `StudyShort`: places_taken."""
        return sum(
            each["study_id"] == study and each["status"] in spec.PLACE_TAKING for each in self.submissions.values()
        )

    def complete(self, name: str, code: str) -> None:
        """The participant returns with a code, whose actions are carried out (`BaseStudyCompletionCodesItem`)."""
        row = self.submissions[name]
        row |= {"status": "AWAITING REVIEW", "study_code": code, "completed_at": "2026-11-22T10:05:00.123000Z"}
        study = self.studies[row["study_id"]]
        chosen: Json = next((each for each in study["completion_codes"] if each["code"] == code), {"actions": []})
        for action in chosen["actions"]:
            if action["action"] == "AUTOMATICALLY_APPROVE":
                row["status"] = "APPROVED"
            elif action["action"] == "REQUEST_RETURN":
                row["return_requested"] = "2026-11-22T10:05:01Z"
            elif action["action"] == "ADD_TO_PARTICIPANT_GROUP":
                self.groups[action["participant_group"]]["participants"].append(row["participant_id"])
            elif action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                row["status"] = "SCREENED OUT"
                gone = [e for e in self.submissions.values() if e["status"] == "SCREENED OUT"]
                if len([e for e in gone if e["study_id"] == row["study_id"]]) >= action["slots"]:
                    study["status"] = "PAUSED"  # schema `FixedScreenOut`, slots
        self.settle(row["study_id"])

    def settle(self, study: str) -> None:
        """“The study object”: AWAITING REVIEW once all places are completed, COMPLETED once all are approved."""
        there = self.studies[study]
        rows = [each["status"] for each in self.submissions.values() if each["study_id"] == study]
        if there["status"] not in ("ACTIVE", "AWAITING REVIEW") or {"ACTIVE", "RESERVED"} & set(rows):
            return
        if self.taken(study) < there["total_available_places"]:
            there["status"] = "ACTIVE"
        else:
            there["status"] = "AWAITING REVIEW" if "AWAITING REVIEW" in rows else "COMPLETED"

    def notice(self, payload: Json, *, secret: str = "", at: float | None = None) -> tuple[bytes, dict[str, str]]:
        """Body and headers of a notification (“Receiving”, “Verifying”)."""
        body = json.dumps(payload).encode()
        moment = str(int(time.time() if at is None else at))
        key = (secret or next(iter(self.secrets.values()))).encode()
        signature = base64.b64encode(hmac.new(key, moment.encode() + body, hashlib.sha256).digest()).decode()
        return body, {"X-Prolific-Request-Signature": signature, "X-Prolific-Request-Timestamp": moment}

    # --- its API ---

    def answer(self, method: str, path: str, query: Json, body: Any) -> Answer:
        from tests.annotation.recruiting.prolific_routes import ROUTES, error

        for pattern, wanted, action in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and wanted == method:
                made: Answer = action(self, *found.groups(), query=query, body=body)
                return made
        return error(404, "Not Found", "The resource does not exist.")


class _Handler(BaseHTTPRequestHandler):
    state: ClassVar[Prolific]

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        method, state = self.command, self.state
        parts = urlsplit(self.path)
        path = parts.path.removeprefix("/api/v1/")
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(data) if data else None
        state.requests.append(f"{method} {path}")
        state.bodies.append(body)
        if state.answer_with:
            self._send(state.answer_with.pop(0))
        elif self.headers.get("Authorization") != f"Token {self.state.token}":
            # “API fundamentals”: 401 without a valid token
            from tests.annotation.recruiting.prolific_routes import error

            self._send(error(401, "Unauthorized", "Authentication credentials were not provided."))
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
        data = b"" if answer.status == 204 else text.encode()
        self.send_response(answer.status)
        if data:
            self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def prolific_server(**values: Any) -> Iterator[Prolific]:
    """A running server; its address is in ``address``."""
    state = Prolific(**values)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"state": state}))
    state.address = f"http://127.0.0.1:{server.server_port}/api/v1/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
