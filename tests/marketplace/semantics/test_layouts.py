"""HIT layouts. "HITLayout" and "HITLayoutParameter" of the MTurk API reference: one value for each placeholder, names
that the layout has, values put in as they are, an HTMLQuestion of at most 65,535 bytes as the result."""

from __future__ import annotations

from typing import Any

import pytest

from marketplace import clock
from marketplace.models import Hit, HITLayout, Requester
from marketplace.operations.registry import Call, handlers
from marketplace.questions import parse_question
from marketplace.services.hits import layouts
from marketplace.services.refusals import InvalidParameter
from marketplace.wire.errors import ParameterValidationError, RequestError, WireError
from tests.marketplace.support import factories

pytestmark = pytest.mark.django_db

PAGE = '<h1>${title}</h1><img src="${image_url}"><form><input name="answer"><p>${title} costs $5 {today}</p></form>'
TYPE = {"Title": "Tag", "Description": "Tag an image.", "Reward": "0.10", "AssignmentDurationInSeconds": 600}


def make_layout(requester: Requester, html: str = PAGE, **given: Any) -> HITLayout:
    return layouts.create_layout(requester=requester, name="Tags", html=html, **given)


def create(requester: Requester, operation: str = "CreateHIT", **given: Any) -> dict[str, Any]:
    made: dict[str, Any] = {} if operation == "CreateHITWithHITType" else TYPE
    call = Call(requester=requester, parameters={**made, "LifetimeInSeconds": 60, **given}, now=clock.now())
    return dict(handlers()[operation](call)["HIT"])


def values(**given: str) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in given.items()]


GIVEN = values(title="A <b>cat</b> & ${image_url}", image_url="https://e.org/?a=1&b=2")


def test_placeholders_are_filled_with_values_as_they_are() -> None:
    requester = factories.make_requester()
    layout = make_layout(requester, frame_height=450)
    assert layouts.placeholders(layout.html) == ["title", "image_url"]
    hit = create(requester, HITLayoutId=layout.layout_id, HITLayoutParameters=GIVEN)
    assert hit["HITLayoutId"] == layout.layout_id
    question = parse_question(hit["Question"])
    assert (question.kind, question.height) == ("HTMLQuestion", 450)
    assert question.html == (
        '<h1>A <b>cat</b> & ${image_url}</h1><img src="https://e.org/?a=1&b=2"><form><input name="answer">'
        "<p>A <b>cat</b> & ${image_url} costs $5 {today}</p></form>"
    )
    assert Hit.objects.get().question_kind == "HTMLQuestion"


def test_every_operation_returns_the_id_of_the_api() -> None:
    requester = factories.make_requester()
    layout = make_layout(requester, "<form>no placeholders</form>")
    assert len(layout.layout_id) == 30 and layout.layout_id.isalnum() and layout.layout_id.isupper()
    hit_type = handlers()["CreateHITType"](Call(requester=requester, parameters=TYPE, now=clock.now()))
    made = create(requester, "CreateHITWithHITType", HITLayoutId=layout.layout_id, **hit_type)

    def ask(operation: str, **parameters: str) -> dict[str, Any]:
        return handlers()[operation](Call(requester=requester, parameters=parameters, now=clock.now()))

    assert ask("GetHIT", HITId=made["HITId"])["HIT"]["HITLayoutId"] == layout.layout_id
    assert [hit["HITLayoutId"] for hit in ask("ListHITs")["HITs"]] == [layout.layout_id]
    create(requester, Question=factories.external_question())
    assert [hit.get("HITLayoutId") for hit in ask("ListHITs")["HITs"]] == [None, layout.layout_id]


BAD, MISSING = "InvalidParameterValue", "MissingParameter"
REFUSED: list[tuple[dict[str, Any], type[WireError], str, str]] = [
    # in the words that MTurk has for it: github.com/boto/boto/issues/3056
    (
        {"HITLayoutParameters": GIVEN[:1]},
        ParameterValidationError,
        MISSING,
        "You have not provided all required HITLayout parameters. Missing parameter names: image_url",
    ),
    ({}, ParameterValidationError, MISSING, "Missing parameter names: title, image_url"),
    ({"HITLayoutParameters": GIVEN + values(colour="red")}, ParameterValidationError, BAD, "called colour"),
    ({"HITLayoutParameters": GIVEN + GIVEN[:1]}, ParameterValidationError, BAD, "two values for title"),
    ({"HITLayoutParameters": [{"Name": "title"}]}, ParameterValidationError, BAD, "Number 1 needs a Name and a Value"),
    (
        {"HITLayoutParameters": GIVEN, "Question": factories.external_question()},
        ParameterValidationError,
        BAD,
        "not both",
    ),
    ({"HITLayoutParameters": GIVEN, "HITLayoutId": None}, ParameterValidationError, BAD, "need it"),
    ({"HITLayoutId": None}, ParameterValidationError, BAD, "needs a Question or a HITLayoutId"),
    ({"HITLayoutParameters": GIVEN, "HITLayoutId": "3NONE"}, RequestError, "HITLayoutDoesNotExist", "3NONE"),
    (
        {"HITLayoutParameters": values(title="x" * 65_000, image_url="")},
        ParameterValidationError,
        "ParameterTooLong",
        "at most 65,535",
    ),
    (
        {"HITLayoutParameters": values(title="x" * 10_000_000, image_url="")},
        ParameterValidationError,
        "ParameterTooLong",
        "65,535",
    ),
    ({"HITLayoutParameters": values(title="\x0b", image_url="")}, ParameterValidationError, "XMLParseError", "XML"),
]


@pytest.mark.parametrize(("given", "kind", "code", "says"), REFUSED, ids=[says[:40] for *_, says in REFUSED])
def test_refusals(given: dict[str, Any], kind: type[WireError], code: str, says: str) -> None:
    requester = factories.make_requester()
    asked = {"HITLayoutId": make_layout(requester).layout_id} | given
    with pytest.raises(kind) as refused:
        create(requester, **{name: value for name, value in asked.items() if value is not None})
    assert says in refused.value.message
    assert refused.value.code == f"AWS.MechanicalTurk.{code}"
    assert not Hit.objects.exists()


def test_somebody_elses_layout_does_not_exist() -> None:
    layout = make_layout(factories.make_requester())
    with pytest.raises(RequestError) as refused:
        create(factories.make_requester(), HITLayoutId=layout.layout_id, HITLayoutParameters=GIVEN)
    assert refused.value.code == "AWS.MechanicalTurk.HITLayoutDoesNotExist"


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"html": ""}, "html"),
        ({"html": "x" * 66_000}, "html"),
        ({"html": "\x0b"}, "html"),
        ({"frame_height": -1}, "frame_height"),
    ],
)
def test_invalid_layouts_are_refused(given: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        layouts.create_layout(requester=factories.make_requester(), **({"name": "A", "html": PAGE} | given))
    assert refused.value.parameter == parameter
