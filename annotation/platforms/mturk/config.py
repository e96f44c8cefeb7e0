"""How a study is offered on MTurk: the settings of its posting, and the call parameters made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from annotation.models import Hit, PlatformAccount, QualificationType, Study
from annotation.platforms.calls import NOT_MADE, Json
from annotation.platforms.costs import CENT
from annotation.platforms.listings import bonus_note, is_bounded, one_listing_field
from annotation.platforms.paying_accounts import account_field
from annotation.task_types.settings import Cell, ConfigForm, ListField, TableField

LOCALE_TYPE = "00000000000000000071"
PERCENT_APPROVED_TYPE = "000000000000000000L0"
NUMBER_APPROVED_TYPE = "00000000000000000040"
#: In Amazon's reference, “QualificationRequirement”: Masters, and Masters in the sandbox.
MASTERS_TYPE = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX_TYPE = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
Purpose = QualificationType.Purpose
GUARDED = {"ActionsGuarded": "PreviewAndAccept"}
#: Rules of own qualifications: the comparator of the API, and whether it compares a score.
RULES = {
    "has": ("Exists", False),
    "lacks": ("DoesNotExist", False),
    "at_least": ("GreaterThanOrEqualTo", True),
    "at_most": ("LessThanOrEqualTo", True),
    "exactly": ("EqualTo", True),
}
#: MTurk accepts ten requirements per HIT. The others come from the settings above and from the study itself.
MOST_OWN = 4
HIGHEST_SCORE = 2**31 - 1


class MturkForm(ConfigForm):
    """Settings of a study's posting on MTurk."""

    description = forms.CharField(
        required=False, max_length=2000, help_text="What workers read in the list of HITs; the study's title if empty."
    )
    keywords = forms.CharField(required=False, max_length=1000, help_text="Separate them with commas.")
    lifetime_days = forms.IntegerField(
        label="Days on offer", initial=7, min_value=1, max_value=365, help_text="How long the HITs are offered."
    )
    approve_after_hours = forms.IntegerField(
        label="Hours until automatic approval",
        initial=72,
        min_value=0,
        max_value=720,
        help_text="After this time, the platform approves work that nobody has decided on. 0: at once.",
    )
    split = forms.BooleanField(
        label="Split large hits",
        required=False,
        initial=True,
        help_text="Offer a hit of ten or more submissions as HITs of at most nine, where HITs of ten cost more.",
    )
    frame_height = forms.IntegerField(
        label="Height of the frame, in pixels", initial=900, min_value=100, max_value=5000
    )
    locales = ListField(
        label="Countries",
        required=False,
        max_length=6,
        help_text="Countries of the workers, such as US, GB or US-CA. Empty: everywhere.",
    )
    least_approved = forms.IntegerField(
        label="Minimum number of approved HITs", required=False, min_value=0, max_value=10_000_000
    )
    least_percent_approved = forms.IntegerField(
        label="Minimum approval rate, in percent", required=False, min_value=0, max_value=100
    )
    masters = forms.BooleanField(label="Only Masters", required=False, initial=False)
    own_qualifications = TableField(
        label="Own qualifications",
        required=False,
        most=MOST_OWN,
        cells=[
            Cell("id", "Id of the qualification type", max_length=255),
            Cell(
                "rule",
                "Workers",
                choices=[
                    ("has", "have it"),
                    ("lacks", "do not have it"),
                    ("at_least", "have at least this score"),
                    ("at_most", "have at most this score"),
                    ("exactly", "have exactly this score"),
                ],
            ),
            Cell("score", "Score", required=False, max_length=10),
        ],
        help_text="Qualification types that you made on the platform, such as one for native speakers.",
    )
    one_listing = one_listing_field()
    account = account_field()

    def clean_own_qualifications(self) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = self.cleaned_data["own_qualifications"]
        for number, row in enumerate(rows, start=1):
            score, compares = row["score"], RULES[row["rule"]][1]
            if compares and not (score.isascii() and score.isdecimal() and int(score) <= HIGHEST_SCORE):
                what = (
                    f"Entry {number}, score: “{score}” is not a whole number. The rule {row['rule']} compares a score."
                )
                raise ValidationError(what, code="score")
            if score and not compares:
                what = f"Entry {number}, score: the rule {row['rule']} compares no score. Remove it."
                raise ValidationError(what, code="score")
        return rows


@dataclass(frozen=True, slots=True)
class MturkConfig:
    """The cleaned settings."""

    description: str = ""
    keywords: str = ""
    lifetime_days: int = 7
    approve_after_hours: int = 72
    split: bool = True
    frame_height: int = 900
    locales: Sequence[str] = ()
    least_approved: int | None = None
    least_percent_approved: int | None = None
    masters: bool = False
    own_qualifications: Sequence[dict[str, str]] = ()
    one_listing: bool = False
    account: str = ""

    def hit_type(
        self, study: Study, reward: Decimal, hit: Hit | None = None, account: PlatformAccount | None = None
    ) -> dict[str, Any]:
        """Parameters of CreateHITType for the account. HITs of one type look the same in the workers' list.

        With ``hit``: the type of that hit's parts alone.
        """
        endpoint = account.endpoint if account else settings.MTURK_ENDPOINT
        return {
            "Title": study.title[:128],
            "Description": f"{self.description or study.title}{bonus_note(study) if self.one_listing else ''}",
            "Keywords": self.keywords,
            "Reward": str(reward.quantize(CENT)),
            "AssignmentDurationInSeconds": study.time_limit_minutes * 60,
            "AutoApprovalDelayInSeconds": self.approve_after_hours * 3600,
            "QualificationRequirements": [
                *self.qualifications(sandbox="sandbox" in endpoint),
                *study_requirements(study, hit, account),
            ],
        }

    def qualifications(self, *, sandbox: bool) -> list[dict[str, Any]]:
        """Requirements. Workers who do not meet them still see the HIT in the list, but not its page."""
        requirements: list[dict[str, Any]] = []
        locales = [locale.upper().partition("-") for locale in self.locales]
        if values := [{"Country": country} | ({"Subdivision": area} if area else {}) for country, _, area in locales]:
            requirements.append({"QualificationTypeId": LOCALE_TYPE, "Comparator": "In", "LocaleValues": values})
        for type_id, least in (
            (NUMBER_APPROVED_TYPE, self.least_approved),
            (PERCENT_APPROVED_TYPE, self.least_percent_approved),
        ):
            if least is not None:
                comparison = {"Comparator": "GreaterThanOrEqualTo", "IntegerValues": [least]}
                requirements.append({"QualificationTypeId": type_id, **comparison})
        if self.masters:
            masters = MASTERS_SANDBOX_TYPE if sandbox else MASTERS_TYPE
            requirements.append({"QualificationTypeId": masters, "Comparator": "Exists"})
        for row in self.own_qualifications:
            comparator, compares = RULES[row["rule"]]
            score = {"IntegerValues": [int(row["score"])]} if compares else {}
            requirements.append({"QualificationTypeId": row["id"], "Comparator": comparator, **score})
        return [requirement | GUARDED for requirement in requirements]

    def hit(self, *, hit_type_id: str, url: str, wanted: int, annotation: str) -> dict[str, Any]:
        """Parameters of CreateHITWithHITType."""
        return {
            "HITTypeId": hit_type_id,
            "MaxAssignments": wanted,
            "LifetimeInSeconds": self.lifetime_days * 24 * 3600,
            "Question": external_question(url, self.frame_height),
            "RequesterAnnotation": annotation,
        }


def asked_for(chosen: Json) -> list[tuple[str, str]]:
    """See `Platform.asked_for`."""
    rows = [
        ("countries", ", ".join(chosen.get("locales") or ())),
        ("approved HITs", at_least(chosen.get("least_approved"), "")),
        ("approval rate", at_least(chosen.get("least_percent_approved"), "%")),
        ("Masters qualification", "required" if chosen.get("masters") else ""),
        ("own qualifications", ", ".join(row["id"] for row in chosen.get("own_qualifications") or ())),
    ]
    return [(name, value) for name, value in rows if value]


def at_least(number: int | None, unit: str) -> str:
    return "" if number is None else f"at least {number:,}{unit}"


def study_requirements(
    study: Study, hit: Hit | None = None, account: PlatformAccount | None = None
) -> list[dict[str, Any]]:
    """Requirements by what workers did: the result of the exam, that they have not taken part in some other studies,
    that they have not done all that one person can do in this one, and that they have not taken part of this ``hit``.

    ``recruiting.qualifications`` makes these qualifications before the study is posted. If one was not made, it is
    still in the list, so that the platform refuses the HIT instead of offering it to everybody.
    """
    types = QualificationType.objects.filter(platform="mturk", account=account, hit=None)
    ids = {
        (study_id, purpose): name for study_id, purpose, name in types.values_list("study", "purpose", "external_id")
    }
    exam = Study.objects.filter(slug=study.exam_study).first() if study.exam_study else None
    requirements: list[dict[str, Any]] = []
    if exam is not None:
        least = {"Comparator": "GreaterThanOrEqualTo", "IntegerValues": [study.exam_percent]}
        requirements.append({"QualificationTypeId": ids.get((exam.pk, Purpose.EXAM), NOT_MADE), **least})
    for other in study.exclude_studies.order_by("pk").values_list("pk", flat=True):
        name = ids.get((other, Purpose.TOOK_PART), NOT_MADE)
        requirements.append({"QualificationTypeId": name, "Comparator": "DoesNotExist"})
    if is_bounded(study, "mturk"):
        name = ids.get((study.pk, Purpose.LIMIT), NOT_MADE)
        requirements.append({"QualificationTypeId": name, "Comparator": "DoesNotExist"})
    requirements = [requirement | GUARDED for requirement in requirements]
    if hit:  # who has taken a part does not even see the others
        kind = QualificationType.objects.filter(platform="mturk", hit=hit).first()
        no_part = {"QualificationTypeId": kind.external_id if kind else NOT_MADE, "Comparator": "DoesNotExist"}
        requirements.append(no_part | {"ActionsGuarded": "DiscoverPreviewAndAccept"})
    return requirements


def external_question(url: str, frame_height: int) -> str:
    """The page at ``url`` in a frame of ``frame_height`` pixels."""
    schema = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
    return (
        f'<ExternalQuestion xmlns="{schema}"><ExternalURL>{escape(url)}</ExternalURL>'
        f"<FrameHeight>{frame_height}</FrameHeight></ExternalQuestion>"
    )
