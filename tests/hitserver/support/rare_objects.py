"""What only some addresses are about, or a form without which nobody gets further: one of each, with who owns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from accounts import invitations
from accounts.models import Identity, SecondFactor, Team
from accounts.provider import Provider
from annotation.models import ItemFeed, Judge, Membership, OutsideAssignment, PlatformAccount, Posting, Study, Webhook
from annotation.models_and_runs.pages.suggesters import tried_by
from annotation.platforms.account_keys import Keys, seal_keys
from annotation.tokens import form_token, participant_token, posting_token, questions_token, start_token, training_token
from annotation.webhooks.managing import send_test
from generation.models import LanguageModel, Suggester
from generation.suggestions.asking import ask_suggesters
from marketplace.models import Requester, Worker
from marketplace.services.hits import assignments
from marketplace.services.messages import worker_messages
from tests.annotation.coding_helpers import coding_study
from tests.factories import make_assignment, make_participant, make_study, make_submission
from tests.generation.support.toy_suggestions import make_suggester
from tests.marketplace.support.factories import form_question
from tests.marketplace.support.work_site import make_hit

#: Where nobody answers.
PROVIDER = Provider(issuer="http://127.0.0.1:9", client_id="hitserver", client_secret="s", name="University X")


@dataclass(frozen=True)
class Case:
    """The parts of one address, what its form sends, its query, and the JSON that a program sends."""

    values: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


def cases_of(users: Mapping[str, User], market: Mapping[str, str], team: Team) -> dict[str, Case]:
    """By route."""
    return {
        **_of_teams(users, team),
        **_of_studies(users),
        **_of_accounts(users["owner"]),
        **_of_signing_in(users["owner"], users["operator"]),
        **_of_suggesters(users["owner"]),
        **_of_workers(),
        **_of_marketplace(users, market),
    }


def _of_accounts(owner: User) -> dict[str, Case]:
    """The owner's account on a platform, at an address where nobody answers."""
    account = PlatformAccount(
        slug="owners", title="Owner's", platform="mturk", endpoint="http://127.0.0.1:9/", region="us-east-1"
    )
    account.user, account.created_at, account.keys_at = owner, timezone.now(), timezone.now()
    seal_keys(account, Keys(access_key_id="AKIAOFTHEOWNER00", secret="s" * 40))
    account.save()
    ends = ("", "keys/", "check/", "notices/", "retire/", "delete/")
    route = "console/platform-accounts/<slug:slug>/"
    return {f"{route}{end}": Case({"slug": account.slug}) for end in ends}


def _of_signing_in(owner: User, operator: User) -> dict[str, Case]:
    """Second factors of the owner and the operator, the owner's identity, and an open invitation."""
    now = timezone.now()
    factors = [
        SecondFactor.objects.create(user=user, name="phone", sealed="", last_step=0, created_at=now)
        for user in (owner, operator)
    ]
    identity = Identity.objects.create(user=owner, issuer=PROVIDER.issuer, subject="1", created_at=now)
    link, _ = invitations.invite(actor="test")
    return {
        "console/account/second-factor/<int:pk>/remove/": Case({"pk": str(factors[0].pk)}),
        "marketplace/operate/second-factor/<int:pk>/remove/": Case({"pk": str(factors[1].pk)}),
        "console/account/identities/<int:pk>/disconnect/": Case({"pk": str(identity.pk)}),
        "console/users/invite/<int:pk>/revoke/": Case({"pk": str(link.pk)}),
    }


def shared(study: Study, users: Mapping[str, User]) -> Study:
    """The study, with the viewer and the owner as its members, and all four as members of its team."""
    for role in ("viewer", "owner"):
        Membership.objects.create(study=study, user=users[role], role=role)
    study.team = Team.objects.get()
    study.save(update_fields=["team"])
    return study


def _of_teams(users: Mapping[str, User], team: Team) -> dict[str, Case]:
    one = Case({"slug": team.slug, "user_id": str(users["viewer"].pk)})
    return {
        f"console/teams/<slug:slug>/{route}": one
        for route in ("", "rename/", "delete/", "members/<int:user_id>/remove/")
    }


def _of_studies(users: Mapping[str, User]) -> dict[str, Case]:
    study = "console/studies/<slug:slug>/"
    with_arms = shared(make_study(items=1, arms=[{"name": "plain"}, {"name": "told"}]), users)
    coded = shared(coding_study(items=1), users)
    of_coding = {"slug": coded.slug, "pk": str(coded.items.get().pk)}
    recorded = shared(make_study(task_type="mil_story", items=1, config={"record_edits": True}), users)
    sent = make_submission(study=recorded)
    judging = shared(make_study(items=0, live=False), users)
    ItemFeed.objects.create(study=judging, source=recorded, kind="story")
    posted, work, outside = _posted(users)
    of_posted = {"slug": posted.slug}
    return {
        **_of_api(with_arms, judging),
        study + "arms/<int:number>/": Case({"slug": with_arms.slug, "number": "1"}),
        study + "coding/": Case(of_coding),
        study + "coding/<int:pk>/": Case(of_coding),
        study + "coding/start/": Case(of_coding),
        study + "platforms/on/<slug:platform>/audience/": Case({"platform": "prolific"}),
        study + "platforms/reconcile/compensate/": Case(of_posted, {"work": str(work), "amount": "0.10"}),
        study + "platforms/reconcile/fetch/": Case(of_posted, {"outside": str(outside)}),
        study + "submissions/<int:pk>/replay/": Case({"slug": recorded.slug, "pk": str(sent.pk)}),
        study + "take-outputs/": Case({"slug": judging.slug}),
        study + "write/": Case(of_posted),
        **_of_webhooks(judging),
        **_of_judges(with_arms),
    }


def _of_api(with_arms: Study, judging: Study) -> dict[str, Case]:
    study = "api/v1/studies/<slug:slug>/"
    return {
        "api/v1/task-types/<str:name>/": Case({"name": "abs_hds"}),
        study + "arms/<str:name>/": Case({"slug": with_arms.slug, "name": "plain"}),
        study + "duplicate/": Case(body={"slug": "a-copy"}),
        study + "items/<path:item>/": Case({"item": "s0"}),
        study + "items/feed/": Case({"slug": judging.slug}),
        study + "members/<str:user>/": Case({"user": "viewer"}, body={"role": "editor"}),
    }


def _of_judges(study: Study) -> dict[str, Case]:
    """A judge that waits, so that it can be stopped and continued."""
    model = LanguageModel.objects.create(name="a-judge", backend="openai", source="m", base_url="http://127.0.0.1:9/v1")
    judge = Judge.objects.create(study=study, name="a", model=model, arm=study.arms.all()[0], method="json", n_items=1)
    one = Case({"slug": study.slug, "pk": str(judge.pk)})
    return {f"console/studies/<slug:slug>/judges/<int:pk>/{act}/": one for act in ("stop", "resume")}


def _of_webhooks(study: Study) -> dict[str, Case]:
    hook = Webhook.objects.create(study=study, address="https://hooks.invalid/", events=["study.done"], nonce="n")
    message = send_test(webhook=hook)
    one = Case({"slug": study.slug, "pk": str(hook.pk), "delivery_pk": str(message.pk)})
    routes = ("", "<int:pk>/", *(f"<int:pk>/{name}/" for name in ("pause", "resume", "secret", "test", "delete")))
    again = "<int:pk>/messages/<int:delivery_pk>/again/"
    return {f"console/studies/<slug:slug>/webhooks/{route}": one for route in (*routes, again)}


def _posted(users: Mapping[str, User]) -> tuple[Study, int, int]:
    """A study on MTurk, with work that arrived here and work that only MTurk has."""
    study = shared(make_study(items=1), users)
    hit = study.hits.get()
    posting = Posting.objects.create(study=study, hit=hit, platform="mturk", external_id="HIT1")
    work = make_assignment(participant=make_participant(study=study, platform="mturk", name="A1WORKER"))
    type(work).objects.filter(pk=work.pk).update(posting=posting, platform_assignment_id="ASSIGNMENT1")
    outside = OutsideAssignment.objects.create(
        posting=posting, external_id="ASSIGNMENT2", worker_id="A2WORKER", state="submitted", seen_at=timezone.now()
    )
    return study, work.pk, outside.pk


def _of_suggesters(owner: User) -> dict[str, Case]:
    made: Suggester = make_suggester("writer-a", created_by=owner.get_username())
    key = f"{tried_by(owner)}1"
    (tried,) = ask_suggesters(suggesters=[made], key=key, story_fields={"story": "A draft."}, round=1, seed=1)
    one = {"name": made.name, "pk": str(tried.pk)}
    routes = ("", "active/", "change/", "pool/", "try/", "try/<int:pk>/", "weights/")
    return {f"console/suggesters/<slug:name>/{route}": Case(one) for route in routes}


def _of_workers() -> dict[str, Case]:
    """A task in progress, one on MTurk, and the form of each page."""
    study = make_study(items=1, part_pay="steps")
    work = make_assignment(study=study)
    mine = {"token": participant_token(work.participant_id)}
    form = {"form": form_token(work.pk, 0)}
    around = {"form": questions_token(work.participant_id, "before", 1)}
    practice = {"form": training_token(work.participant_id, 1, 0)}
    posting = Posting.objects.create(study=study, hit=work.hit, platform="mturk", external_id="HIT2")
    there = make_study(items=1)
    elsewhere = make_assignment(participant=make_participant(study=there, platform="mturk", name="A3WORKER"))
    posted = Posting.objects.create(study=there, hit=elsewhere.hit, platform="mturk", external_id="HIT3")
    type(elsewhere).objects.filter(pk=elsewhere.pk).update(posting=posted)
    open_study = make_study(items=1)
    routes = ("", "draft", "return", "stop", "suggest")
    arrival = Case({"token": posting_token(posting.pk)}, query="?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=HIT2")
    return {
        **{f"w/<str:token>/{route}": Case(mine, form) for route in routes},
        **{f"w/<str:token>/questions/{route}": Case(mine, around) for route in ("", "draft")},
        **{f"w/<str:token>/training/{route}": Case(mine, practice) for route in ("", "draft")},
        "w/<str:token>/ready": Case({"token": participant_token(elsewhere.participant_id, elsewhere.pk)}),
        "p/<str:token>/": arrival,
        "s/<slug:slug>/": Case({"slug": open_study.slug}, {"start": start_token(open_study.pk)}),
    }


def _of_marketplace(users: Mapping[str, User], market: Mapping[str, str]) -> dict[str, Case]:
    requester, worker = Requester.objects.get(pk=market["pk"]), Worker.objects.get(user=users["worker"])
    asked = assignments.accept(worker=worker, hit=make_hit(requester, question=form_question()))
    replies = [
        worker_messages.reply(
            message=worker_messages.send(worker=worker, subject="Hello", text="Hi.", requester=each), text="Why?"
        )
        for each in (None, requester)
    ]
    group = Case(query=f"?groupId={market['group_id']}")
    sent = Case(form={"assignmentId": market["assignment_id"]}, query=f"?assignmentId={market['assignment_id']}")
    return {
        "mturk/externalSubmit": sent,
        "mturk/preview": group,
        "mturk/previewandaccept": group,
        "marketplace/tasks/<slug:assignment_id>/": Case({"assignment_id": asked.assignment_id}),
        "marketplace/operate/messages/<slug:message_id>/": Case({"message_id": replies[0].message_id}),
        "marketplace/operate/my/messages/<slug:message_id>/": Case({"message_id": replies[1].message_id}),
    }
