"""What the conformance tests work on: requesters with clients, workers, and HITs in every state."""

from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from marketplace.models import Hit, QualificationType, Requester, Worker
from marketplace.questions import Given
from marketplace.services.accounts import worker_accounts
from marketplace.services.hits import assignments, layouts, uploaded_files
from marketplace.services.qualifications import qualification_requests

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL = (
    f'<ExternalQuestion xmlns="{SCHEMAS}/2006-07-14/ExternalQuestion.xsd">'
    "<ExternalURL>https://example.org/work?a=1&amp;b=2</ExternalURL><FrameHeight>600</FrameHeight></ExternalQuestion>"
)
HTML = (
    f'<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!DOCTYPE html><html><body>'
    "<form action='https://example.org/mturk/externalSubmit'><input name='q'></form></body></html>]]></HTMLContent>"
    "<FrameHeight>450</FrameHeight></HTMLQuestion>"
)
FORM = (
    f'<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd"><Question>'
    "<QuestionIdentifier>q1</QuestionIdentifier><IsRequired>true</IsRequired>"
    "<QuestionContent><Text>Which is a number?</Text></QuestionContent><AnswerSpecification><SelectionAnswer>"
    "<StyleSuggestion>radiobutton</StyleSuggestion><Selections>"
    "<Selection><SelectionIdentifier>a</SelectionIdentifier><Text>Seven</Text></Selection>"
    "<Selection><SelectionIdentifier>b</SelectionIdentifier><Text>Green</Text></Selection>"
    "</Selections></SelectionAnswer></AnswerSpecification></Question></QuestionForm>"
)
KEY = (
    f'<AnswerKey xmlns="{SCHEMAS}/2005-10-01/AnswerKey.xsd"><Question><QuestionIdentifier>q1</QuestionIdentifier>'
    "<AnswerOption><SelectionIdentifier>a</SelectionIdentifier><AnswerScore>10</AnswerScore></AnswerOption>"
    "</Question></AnswerKey>"
)
FILE_FORM = (
    f'<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd"><Question>'
    "<QuestionIdentifier>photo</QuestionIdentifier><IsRequired>true</IsRequired>"
    "<QuestionContent><Text>A photo of a tree.</Text></QuestionContent><AnswerSpecification><FileUploadAnswer>"
    "<MaxFileSizeInBytes>1000</MaxFileSizeInBytes><MinFileSizeInBytes>1</MinFileSizeInBytes>"
    "</FileUploadAnswer></AnswerSpecification></Question></QuestionForm>"
)
LAYOUT = "<!DOCTYPE html><html><body><form><p>${sentence}</p><input name='q'></form></body></html>"
NOWHERE = "3NOSUCHTHING"
NOBODY = "A3NOSUCHWORKER"

TYPE: dict[str, Any] = {
    "Title": "Rate a sentence",
    "Description": "Read one sentence and say how natural it is.",
    "Keywords": "language, rating",
    "Reward": "0.50",
    "AssignmentDurationInSeconds": 600,
    "AutoApprovalDelayInSeconds": 86400,
}
WORK: dict[str, Any] = {"LifetimeInSeconds": 3600, "MaxAssignments": 2, "Question": EXTERNAL}


@dataclass
class World:
    client: Any
    stranger: Any = None
    poor: Any = None
    abroad: Any = None
    workers: int = 0
    answered: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Notes which operation was answered with which HTTP status, to whichever client."""

        def note(http_response: Any, model: Any, **kwargs: Any) -> None:
            self.answered.append((model.name, http_response.status_code))

        for caller in self.callers.values():
            caller.meta.events.register("after-call.mturk.*", note)

    @property
    def callers(self) -> dict[str, Any]:
        clients = {"client": self.client, "stranger": self.stranger, "poor": self.poor, "abroad": self.abroad}
        return {name: client for name, client in clients.items() if client is not None}

    def worker(self) -> Worker:
        self.workers += 1
        return worker_accounts.create_worker(name=f"Worker {self.workers}", country="US", actor="test")

    def hit_type(self, **changes: Any) -> str:
        return str(self.client.create_hit_type(**{**TYPE, **changes})["HITTypeId"])

    def hit(self, **changes: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.client.create_hit(**{**TYPE, **WORK, **changes})["HIT"]
        return made

    def accepted(self, hit_id: str, worker: Worker | None = None) -> str:
        found = Hit.objects.get(hit_id=hit_id)
        return assignments.accept(worker=worker or self.worker(), hit=found).assignment_id

    def submitted(self, hit_id: str = "", worker: Worker | None = None) -> str:
        """An assignment of this HIT, or of a new one with one place, with an answer."""
        identifier = self.accepted(hit_id or self.hit(MaxAssignments=1)["HITId"], worker)
        assignments.submit(assignment_id=identifier, answers={"rating": "4"})
        return identifier

    def approved(self, hit_id: str = "", worker: Worker | None = None) -> str:
        identifier = self.submitted(hit_id, worker)
        self.client.approve_assignment(AssignmentId=identifier)
        return identifier

    def rejected(self) -> str:
        identifier = self.submitted()
        self.client.reject_assignment(AssignmentId=identifier, RequesterFeedback="Not done.")
        return identifier

    def reviewable(self) -> str:
        """A HIT whose work was all decided on."""
        made = self.hit(MaxAssignments=1)
        self.approved(made["HITId"])
        return str(made["HITId"])

    def disposed(self) -> str:
        hit_id = self.reviewable()
        self.client.delete_hit(HITId=hit_id)
        return hit_id

    def layout(self) -> str:
        """A HIT layout of the client's; requesters make them on a page, not through the API."""
        owner = Requester.objects.get(name="Lab")
        return layouts.create_layout(requester=owner, name="Sentence", html=LAYOUT, frame_height=400).layout_id

    def with_file(self, content: bytes) -> str:
        """Work that was handed in with a file."""
        identifier = self.accepted(self.hit(Question=FILE_FORM)["HITId"])
        assignment = assignments.find(assignment_id=identifier)
        form = assignments.form_of(assignment.hit)
        assert form is not None
        upload = SimpleUploadedFile("tree.jpg", content)
        kept = uploaded_files.keep(assignment=assignment, question=form.questions[0], upload=upload, most=1000)
        assignments.submit(assignment_id=identifier, answers={"photo": Given(upload=kept)})
        return identifier

    def hit_of(self, assignment_id: str) -> str:
        return str(self.client.get_assignment(AssignmentId=assignment_id)["Assignment"]["HITId"])

    def worker_of(self, assignment_id: str) -> str:
        return str(self.client.get_assignment(AssignmentId=assignment_id)["Assignment"]["WorkerId"])

    def qualification_type(self, **changes: Any) -> str:
        self.workers += 1
        name = f"Qualification {self.workers}"
        given = {"Name": name, "Description": "A qualification.", "QualificationTypeStatus": "Active", **changes}
        return str(self.client.create_qualification_type(**given)["QualificationType"]["QualificationTypeId"])

    def tested_type(self) -> str:
        return self.qualification_type(Test=FORM, TestDurationInSeconds=300)

    def qualification_request(self, type_id: str = "", worker: Worker | None = None) -> str:
        """A worker has taken a test that the requester has to judge."""
        found = QualificationType.objects.get(type_id=type_id or self.tested_type())
        who = worker or self.worker()
        asked = qualification_requests.request(type=found, worker=who)
        qualification_requests.take_test(request=asked, answers={"q1": "a"})
        waiting = self.client.list_qualification_requests(QualificationTypeId=found.type_id)["QualificationRequests"]
        return str(next(each["QualificationRequestId"] for each in waiting if each["WorkerId"] == who.worker_id))

    def qualified(self, type_id: str, value: int = 80) -> Worker:
        who = self.worker()
        self.client.associate_qualification_with_worker(
            QualificationTypeId=type_id, WorkerId=who.worker_id, IntegerValue=value, SendNotification=False
        )
        return who

    def bonus(self, assignment_id: str, **changes: Any) -> dict[str, Any]:
        given = {"AssignmentId": assignment_id, "BonusAmount": "1.25", "Reason": "Good work.", **changes}
        worker_id = given.pop("WorkerId", None) or self.worker_of(assignment_id)
        return {"WorkerId": worker_id, **given}

    def balance(self) -> str:
        return str(self.client.get_account_balance()["AvailableBalance"])
