"""The marketplace's rows for tests, made by its services."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from marketplace.models import Assignment, Hit, QualificationType, Requester, Worker
from marketplace.money import amount
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.hits import assignments, posting
from marketplace.services.money import payments
from marketplace.services.qualifications import qualification_types

_numbers = itertools.count(1)
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"


def external_question(url: str = "https://example.org/task?item=1&arm=2", height: int = 600) -> str:
    return (
        f'<ExternalQuestion xmlns="{SCHEMAS}/2006-07-14/ExternalQuestion.xsd">'
        f"<ExternalURL>{url.replace('&', '&amp;')}</ExternalURL><FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )


def html_question(html: str = "<!DOCTYPE html><p>Which is better?</p>", height: int = 450) -> str:
    return (
        f'<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd">'
        f"<HTMLContent><![CDATA[{html}]]></HTMLContent><FrameHeight>{height}</FrameHeight></HTMLQuestion>"
    )


def form_question() -> str:
    """A required choice of one ("capital": paris, rome) and a text that may be left out ("why")."""
    return (
        f'<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd"><Overview><Title>Capitals</Title></Overview>'
        "<Question><QuestionIdentifier>capital</QuestionIdentifier><IsRequired>true</IsRequired>"
        "<QuestionContent><Text>What is the capital of France?</Text></QuestionContent>"
        "<AnswerSpecification><SelectionAnswer><StyleSuggestion>radiobutton</StyleSuggestion><Selections>"
        "<Selection><SelectionIdentifier>paris</SelectionIdentifier><Text>Paris</Text></Selection>"
        "<Selection><SelectionIdentifier>rome</SelectionIdentifier><Text>Rome</Text></Selection>"
        "</Selections></SelectionAnswer></AnswerSpecification></Question>"
        "<Question><QuestionIdentifier>why</QuestionIdentifier><QuestionContent><Text>Why?</Text></QuestionContent>"
        "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
    )


def answer_key(right: str = "paris", points: int = 10) -> str:
    return (
        f'<AnswerKey xmlns="{SCHEMAS}/2005-10-01/AnswerKey.xsd"><Question>'
        f"<QuestionIdentifier>capital</QuestionIdentifier><AnswerOption><SelectionIdentifier>{right}"
        f"</SelectionIdentifier><AnswerScore>{points}</AnswerScore></AnswerOption></Question>"
        f"<QualificationValueMapping><PercentageMapping><MaximumSummedScore>{points}</MaximumSummedScore>"
        "</PercentageMapping></QualificationValueMapping></AnswerKey>"
    )


def make_requester(*, balance: str = "100.00", name: str = "", user: User | None = None) -> Requester:
    requester = requester_accounts.create_requester(name=name or f"Requester {next(_numbers)}", user=user, actor="test")
    if Decimal(balance):
        payments.deposit(requester=requester, amount=amount(balance), actor="test")
    return requester


def make_key(requester: Requester) -> requester_accounts.NewKey:
    return requester_accounts.create_access_key(requester=requester, actor="test")


def make_worker(
    *, country: str = "US", subdivision: str = "", user: User | None = None, with_user: bool = False, name: str = ""
) -> Worker:
    if with_user and user is None:
        number = next(_numbers)
        user = User.objects.create_user(f"worker{number}", f"worker{number}@example.org", "correct horse battery")
    return worker_accounts.create_worker(user=user, country=country, subdivision=subdivision, name=name, actor="test")


def properties(
    *,
    title: str = "Compare two summaries",
    reward: str = "0.50",
    requirements: Sequence[Mapping[str, Any]] = (),
    assignment_duration: int = 600,
    auto_approval_delay: int = 86_400,
) -> posting.Properties:
    return posting.Properties(
        title=title,
        description="Read two summaries and say which is better.",
        keywords="text, summaries",
        reward=amount(reward),
        assignment_duration=assignment_duration,
        auto_approval_delay=auto_approval_delay,
        requirements=requirements,
    )


def make_hit(
    *,
    requester: Requester | None = None,
    max_assignments: int = 1,
    lifetime: int = 3600,
    question: str = "",
    annotation: str = "",
    token: str = "",
    **of_type: Any,
) -> Hit:
    """A HIT on offer; ``of_type`` are `properties`."""
    work = posting.Work(
        question=question or external_question(),
        lifetime=lifetime,
        max_assignments=max_assignments,
        annotation=annotation,
    )
    hit_type = properties(**of_type)
    return posting.create_hit(requester=requester or make_requester(), hit_type=hit_type, work=work, token=token)


def make_assignment(*, hit: Hit | None = None, worker: Worker | None = None, submitted: bool = False) -> Assignment:
    """A HIT in progress, or handed in."""
    assignment = assignments.accept(worker=worker or make_worker(), hit=hit or make_hit())
    if submitted:
        return assignments.submit(assignment_id=assignment.assignment_id, answers={"better": "A"})
    return assignment


def make_qualification_type(
    *, requester: Requester | None = None, name: str = "", test: bool = False, key: bool = True, **terms: Any
) -> QualificationType:
    """A type that is granted by hand, or with ``test`` by the test of `form_question` and, if ``key``, its answers."""
    given: dict[str, Any] = {"description": "Knows capitals.", "status": "Active"} | terms
    if test:
        given |= {"test": form_question(), "test_duration": 600, "answer_key": answer_key() if key else None}
    return qualification_types.create_type(
        requester=requester or make_requester(),
        name=name or f"Qualification {next(_numbers)}",
        terms=qualification_types.Terms(**given),
    )
