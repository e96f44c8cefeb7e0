"""One server with something behind every address, and a client for every role."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from http.cookies import SimpleCookie
from typing import Any

from django.contrib.auth.models import User
from django.core import signing
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import URLPattern, URLResolver

from accounts import invitations, second_factor, tokens
from annotation.models import BulkAction, Item, Membership, Study, Submission
from annotation.review.bulk_decisions import plan_action
from annotation.studies.images import add_media
from annotation.tokens import participant_token
from generation.models import GenerationRun
from marketplace import clock
from marketplace.access import add_operator
from marketplace.models import Assignment, Requester, UploadedFile, Worker
from marketplace.questions import answers_xml
from marketplace.questions.checks import Given, Upload
from marketplace.services import disputes
from marketplace.services.accounts import requester_accounts, sign_in_links, worker_accounts
from marketplace.services.accounts.users import invite_user
from marketplace.services.hits import assignments, layouts, uploaded_files
from marketplace.services.messages import worker_messages
from marketplace.services.money import payments, payroll
from marketplace.sites.work.task_page import FRAME_SALT
from tests.annotation.images import image_file
from tests.factories import make_researcher, make_study, make_submission, make_team
from tests.generation.support.finished_runs import make_run
from tests.hitserver.support.api_objects import api_cases, scope_tokens
from tests.hitserver.support.managing_objects import managing_cases
from tests.hitserver.support.rare_objects import Case, cases_of, shared
from tests.marketplace.support.work_site import TEST, external, html_question, make_hit, make_type

#: *viewer* can only read the study, *payer* and *editor* are members of its team, *outsider* is a researcher with
#: another study, *nobody* has not signed in.
ROLES = ("nobody", "worker", "requester", "operator", "outsider", "viewer", "payer", "editor", "owner", "admin")
RUN = "sweep-of-the-owner"


def addresses(resolver: URLResolver, before: str = "") -> list[tuple[str, str]]:
    """Route and name of every address."""
    found: list[tuple[str, str]] = []
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern)
        found += [(route, str(entry.name))] if isinstance(entry, URLPattern) else addresses(entry, route)
    return found


@dataclass(frozen=True)
class Everybody:
    users: dict[str, User]
    study: Study
    market: dict[str, str]
    cases: dict[str, Case]
    cookies: dict[str, SimpleCookie]
    tokens: dict[str, str]

    def client(self, role: str) -> Client:
        """Signed in as this role, or with the owner's token of this scope; an error in a view is a 500, as on a
        server."""
        client = Client(raise_request_exception=False)
        if role in self.tokens:
            return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {self.tokens[role]}"})
        if role != "nobody":
            client.cookies.update(self.cookies[role])
        return client

    def address(self, route: str) -> str:
        """The route with what it is about filled in: the owner's, the requester's or the worker's own."""
        values = {"slug": self.study.slug, "pseudonym": self.study.participants.get().pseudonym} | self.market
        values |= {"name": RUN, "run_name": RUN, "task_type": "abs_hds", "kind": "long", "format": "csv", "number": "1"}
        values |= {"platform": "mturk"}
        values |= {"user_id": str(self.users["viewer"].pk), "payout_pk": self.market["payout"]}
        if route.startswith("w/"):
            values["token"] = participant_token(self.study.participants.get().pk)
        else:
            values["token"] = self.market.get(route.split("<")[0].strip("/"), "")
        if "/actions/" in route:
            values["pk"] = str(BulkAction.objects.get().pk)
        elif route.startswith("console/studies/"):
            rows = Submission.objects if "submissions/" in route else Item.objects
            values["pk"] = str(rows.filter(study=self.study).order_by("pk")[0].pk)
        elif route.startswith("console/"):
            values["pk"] = self.market["console token"] if "tokens/" in route else str(self.users["viewer"].pk)
        if "report/<str:name>" in route:
            values["name"] = "report.html"
        if "report/figures/" in route:
            values["key"] = "top_p-distinct" if route.startswith("console/runs/") else "time-0"
        values |= {"staged": "0" * 32, "questionnaire": "before"}
        if "images/" in route or route.startswith("media/"):
            media = self.study.media.get()
            values |= {"pk": str(media.pk), "name": media.key, "width": "480"}
        if route.startswith("console/models/"):
            values["name"] = "tiny"
        if route.startswith("marketplace/groups/"):
            values["type_id"] = self.market["hit type"]
        if "/tasks/" in route:
            values["assignment_id"] = self.market["open assignment"]
        case = self.cases.get(route, Case())
        values |= case.values
        return "/" + re.sub(r"<\w+:(\w+)>", lambda found: values[found[1]], route) + case.query

    def answer(self, role: str, method: str, route: str) -> int:
        """The status that this role gets. Programs send JSON, browsers a form."""
        client, address = self.client(role), self.address(route)
        if route.startswith("api/"):
            body = json.dumps({**self.form(route), **self.cases.get(route, Case()).body}) if method != "GET" else ""
            return client.generic(method, address, body, content_type="application/json").status_code
        response = client.post(address, self.form(route)) if method == "POST" else client.get(address)
        return response.status_code

    def form(self, route: str) -> dict[str, str]:
        """What a POST sends: nothing, unless the server then knows of nothing that it is about."""
        return dict(self.cases.get(route, Case()).form)


def make_everybody() -> Everybody:
    users = {role: User.objects.create_user(role) for role in ("worker", "requester", "operator")}
    users |= {role: make_researcher(role) for role in ("outsider", "viewer", "payer", "editor", "owner")}
    users["admin"] = User.objects.create_superuser("admin")
    add_operator(users["operator"])
    study = make_study(items=1)
    sent = make_submission(study=study)
    chosen = Submission.objects.filter(pk=sent.pk)
    plan_action(study=study, action="approve", chosen=chosen, actor="owner")
    _add_image_and_training(study)
    Study.objects.filter(pk=study.pk).update(questionnaires={"before": [{"block": "attention"}]})
    team = make_team(viewer=users["viewer"], payer=users["payer"], editor=users["editor"], owner=users["owner"])
    shared(study, users)
    Membership.objects.create(study=make_study(items=0, live=False), user=users["outsider"], role="owner")
    make_run({f"top_p={share}": [["a secret text"]] for share in (0.3, 0.5, 0.9)}, name=RUN)
    GenerationRun.objects.update(created_by="owner")
    market = _market(users)
    cases = cases_of(users, market, team)
    cases |= api_cases(study, cases, users["owner"]) | managing_cases(study, cases, market)
    cookies = {role: _signed_in(users[role]) for role in users}
    return Everybody(users, study, market, cases, cookies, scope_tokens(users["owner"]))


def _signed_in(user: User) -> SimpleCookie:
    """The cookies of somebody who has signed in. To sign in takes as long as most requests."""
    client = Client()
    client.force_login(user)
    session = client.session
    session[second_factor.VERIFIED] = True
    session.save()
    return client.cookies


def _add_image_and_training(study: Study) -> None:
    """An image of the live study and an item of its training, stored while it is a draft."""
    Study.objects.filter(pk=study.pk).update(status="draft")
    item = study.items.get()
    item.pk, item.external_id, item.position, item.role = None, "training", item.position + 1, Item.Role.TRAINING
    item.save()
    add_media(study=study, name="door.png", data=image_file(size=(600, 30)), alt="A door.", actor="test")
    Study.objects.filter(pk=study.pk).update(status="live")


def _market(users: dict[str, User]) -> dict[str, str]:
    """A requester with one of everything, and a worker with paid, rejected and open work."""
    requester = requester_accounts.create_requester(name="Lab", user=users["requester"], actor="test")
    _deposit(requester)
    worker = worker_accounts.create_worker(user=users["worker"], actor="test")
    rejected = _submitted(requester, worker)
    assignments.reject(assignment=rejected, feedback="Too fast.")
    disputes.object_to(assignment_id=rejected.assignment_id, worker=worker, text="I read it.")
    assignments.approve(assignment=_submitted(requester, worker))
    listed = payroll.make_payroll(actor="test")
    payroll.mark_paid(payroll=listed, rows=None, reference="1", actor="test")
    framed = make_hit(requester, question=html_question("<!doctype html><p>Is it fluent?</p>"))
    open_one = assignments.accept(worker=worker, hit=framed)
    made_link = requester_accounts.create_requester(name="Other lab", actor="test")
    file = _uploaded(rejected)
    key = requester_accounts.create_access_key(requester=requester, actor="test").key
    return {
        "pk": str(requester.pk),
        "key_pk": str(key.pk),
        "key_id": key.access_key_id,
        "message_id": worker_messages.send(worker=worker, subject="Hello", text="Thank you.").message_id,
        "group_id": framed.hit_type.type_id,
        "worker_id": worker.worker_id,
        "hit_id": rejected.hit.hit_id,
        "type_id": make_type(requester, test=TEST, test_duration=600).type_id,
        "assignment_id": rejected.assignment_id,
        "open assignment": open_one.assignment_id,
        "hit type": framed.hit_type.type_id,
        "layout_id": layouts.create_layout(requester=requester, name="Tags", html="<p>${text}</p>").layout_id,
        "key": file.key,
        "payout": str(listed.rows.get().payout.pk),
        "console token": str(tokens.create_token(user=users["owner"], name="laptop").token.pk),
        "console/join": invitations.invite(actor="test")[1],
        "console/login/link": invitations.make_way_in(user=users["admin"], actor="test"),
        "marketplace/join": worker_accounts.invite(actor="test").token,
        "marketplace/sign-in/link": sign_in_links.create_login_link(worker=worker),
        "marketplace/operate/welcome": invite_user(requester=made_link, actor="test"),
        "marketplace/files": uploaded_files.temporary_path(file).rstrip("/").rpartition("/")[2],
        "marketplace/frame": signing.dumps([framed.pk, open_one.pk], salt=FRAME_SALT),
    }


def _deposit(requester: Requester) -> None:
    payments.deposit(requester=requester, amount=Decimal("100.00"), actor="test")


def _submitted(requester: Requester, worker: Worker) -> Assignment:
    hit = make_hit(requester, question=external("https://tasks.example/rate"))
    taken = assignments.accept(worker=worker, hit=hit)
    answers: dict[str, Any] = {"fluent": "yes"}
    return assignments.submit(assignment_id=taken.assignment_id, worker=worker, answers=answers)


def _uploaded(assignment: Assignment) -> UploadedFile:
    """A file that came with the answer, stored as the workers' site stores one."""
    key = "3UPLOADEDFILE"
    uploaded_files._storage().save(uploaded_files._place(key), ContentFile(b"x"))
    answer = answers_xml.answers_xml({"photo": Given(upload=Upload(key, 1, "photo.png"))})
    Assignment.objects.filter(pk=assignment.pk).update(answer=answer)
    return UploadedFile.objects.create(
        key=key,
        assignment=assignment,
        question_identifier="photo",
        name="photo.png",
        size=1,
        submitted=True,
        uploaded_at=clock.now(),
    )
