"""Workers, requesters and tasks for the tests of the workers' site, made by the services that make them for real."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from marketplace.models import Assignment, Hit, QualificationType, Requester, Worker
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.hits import assignments, posting
from marketplace.services.money import payments
from marketplace.services.qualifications import qualification_types

PASSWORD = "a-long-enough-password"
SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
_numbers = count(1)

FORM = f"""<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd">
<Overview><Title>About one sentence</Title><Text>Read it, then answer.</Text>
<List><ListItem>No dictionary</ListItem><ListItem>No translator</ListItem></List>
<FormattedContent><![CDATA[<p onclick="steal()">It was <b>late</b>.<script>steal()</script></p>]]></FormattedContent>
</Overview>
<Question><QuestionIdentifier>tone</QuestionIdentifier><DisplayName>Tone</DisplayName><IsRequired>true</IsRequired>
<QuestionContent><Text>Which tone has it?</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><StyleSuggestion>radiobutton</StyleSuggestion><Selections>
<Selection><SelectionIdentifier>sad</SelectionIdentifier><Text>Sad</Text></Selection>
<Selection><SelectionIdentifier>glad</SelectionIdentifier><Text>Glad</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>about</QuestionIdentifier><DisplayName>Subjects</DisplayName>
<QuestionContent><Text>What is it about?</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><MinSelectionCount>1</MinSelectionCount><MaxSelectionCount>2</MaxSelectionCount>
<StyleSuggestion>checkbox</StyleSuggestion><Selections>
<Selection><SelectionIdentifier>time</SelectionIdentifier><Text>Time</Text></Selection>
<Selection><SelectionIdentifier>place</SelectionIdentifier><Text>Place</Text></Selection>
<Selection><SelectionIdentifier>people</SelectionIdentifier><Text>People</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>sure</QuestionIdentifier><DisplayName>How sure</DisplayName>
<QuestionContent><Text>How sure are you?</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><StyleSuggestion>dropdown</StyleSuggestion><Selections>
<Selection><SelectionIdentifier>1</SelectionIdentifier><Text>Not at all</Text></Selection>
<Selection><SelectionIdentifier>2</SelectionIdentifier><Text>Quite</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>words</QuestionIdentifier><DisplayName>Words</DisplayName>
<QuestionContent><Text>How many words has it?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer><Constraints><IsNumeric minValue="1" maxValue="9"/></Constraints>
</FreeTextAnswer></AnswerSpecification></Question>
<Question><QuestionIdentifier>why</QuestionIdentifier><DisplayName>Reason</DisplayName><IsRequired>true</IsRequired>
<QuestionContent><Text>Why do you think so?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer><Constraints><Length minLength="5" maxLength="40"/></Constraints>
<NumberOfLinesSuggestion>4</NumberOfLinesSuggestion></FreeTextAnswer></AnswerSpecification></Question>
</QuestionForm>"""
GOOD = {"q1": "sad", "q2": ["time", "people"], "q3": "2", "q4": "3", "q5": "It says <so>.\r\nReally."}

TEST = f"""<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd">
<Question><QuestionIdentifier>sum</QuestionIdentifier><DisplayName>Sum</DisplayName><IsRequired>true</IsRequired>
<QuestionContent><Text>Two and two?</Text></QuestionContent>
<AnswerSpecification><SelectionAnswer><Selections>
<Selection><SelectionIdentifier>four</SelectionIdentifier><Text>Four</Text></Selection>
<Selection><SelectionIdentifier>five</SelectionIdentifier><Text>Five</Text></Selection>
</Selections></SelectionAnswer></AnswerSpecification></Question></QuestionForm>"""
KEY = f"""<AnswerKey xmlns="{SCHEMAS}/2005-10-01/AnswerKey.xsd">
<Question><QuestionIdentifier>sum</QuestionIdentifier>
<AnswerOption><SelectionIdentifier>four</SelectionIdentifier><AnswerScore>100</AnswerScore></AnswerOption>
</Question></AnswerKey>"""


def external(url: str, height: int = 600) -> str:
    escaped = url.replace("&", "&amp;")
    return (
        f'<ExternalQuestion xmlns="{SCHEMAS}/2006-07-14/ExternalQuestion.xsd">'
        f"<ExternalURL>{escaped}</ExternalURL><FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )


def html_question(html: str, height: int = 0) -> str:
    return (
        f'<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd">'
        f"<HTMLContent><![CDATA[{html}]]></HTMLContent><FrameHeight>{height}</FrameHeight></HTMLQuestion>"
    )


def make_requester(name: str = "", balance: str = "100.00") -> Requester:
    requester = requester_accounts.create_requester(name=name or f"Lab {next(_numbers)}", actor="test")
    payments.deposit(requester=requester, amount=Decimal(balance), actor="test")
    return requester


def make_worker(username: str = "", *, country: str = "DE", email: str = "") -> Worker:
    user = User.objects.create_user(username or f"worker{next(_numbers)}", email, PASSWORD)
    return worker_accounts.create_worker(user=user, country=country, actor="test")


def make_hit(
    requester: Requester | None = None,
    *,
    question: str = "",
    max_assignments: int = 1,
    lifetime: int = 3600,
    **given: Any,
) -> Hit:
    requester = requester or make_requester()
    properties: dict[str, Any] = {
        "title": "Rate a sentence",
        "description": "Say how a sentence sounds.",
        "reward": Decimal("0.50"),
        "assignment_duration": 600,
        "auto_approval_delay": 86_400,
    }
    hit_type = posting.create_hit_type(requester=requester, properties=posting.Properties(**(properties | given)))
    work = posting.Work(
        question=question or external("https://tasks.example/rate?set=a"),
        lifetime=lifetime,
        max_assignments=max_assignments,
    )
    return posting.create_hit(requester=requester, hit_type=hit_type, work=work)


def make_assignment(worker: Worker, hit: Hit | None = None, **given: Any) -> Assignment:
    return assignments.accept(worker=worker, hit=hit or make_hit(**given))


def make_type(
    requester: Requester | None = None, name: str = "Sums", *, keywords: str = "", **terms: Any
) -> QualificationType:
    defaults: dict[str, Any] = {"description": "Can add.", "status": "Active"}
    return qualification_types.create_type(
        requester=requester or make_requester(),
        name=name,
        keywords=keywords,
        terms=qualification_types.Terms(**(defaults | terms)),
    )


def signed_in(worker: Worker) -> Client:
    client = Client()
    assert worker.user is not None
    client.force_login(worker.user)
    return client
