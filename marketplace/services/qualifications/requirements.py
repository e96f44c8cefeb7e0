"""Qualification requirements: whether they are valid, and whether a worker meets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Count, Q

from common.languages import gettext as _
from common.languages import marked
from marketplace import clock, countries
from marketplace.models import Assignment, Qualification, QualificationType, Worker
from marketplace.services.qualifications import builtin_types
from marketplace.services.refusals import InvalidParameter, NotFound

MOST_REQUIREMENTS = 10
MOST_INTEGERS = 15
MOST_LOCALES = 30
ENOUGH_FOR_PERCENT = 100  # assignments; a worker with fewer counts as one whose work is always approved

ACTIONS = ("DiscoverPreviewAndAccept", "PreviewAndAccept", "Accept")
_SETS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")
_WORDS = {
    "LessThan": marked("below %(values)s"),
    "LessThanOrEqualTo": marked("at most %(values)s"),
    "GreaterThan": marked("above %(values)s"),
    "GreaterThanOrEqualTo": marked("at least %(values)s"),
    "EqualTo": marked("exactly %(values)s"),
    "NotEqualTo": marked("not %(values)s"),
    "In": marked("one of %(values)s"),
    "NotIn": marked("none of %(values)s"),
}

Requirement = Mapping[str, Any]
Place = tuple[str, str]


def checked(requirements: Sequence[Requirement]) -> list[dict[str, Any]]:
    """The requirements in one standard form. Raises InvalidParameter or NotFound."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise _wrong(f"A HIT can have at most {MOST_REQUIREMENTS} qualification requirements.")
    for requirement in requirements:
        _check(requirement)
    standard_forms = []
    for requirement in requirements:
        guarded = requirement.get("ActionsGuarded")
        if not guarded:
            guarded = "PreviewAndAccept" if requirement.get("RequiredToPreview") else "Accept"
        form: dict[str, Any] = {
            "QualificationTypeId": requirement["QualificationTypeId"],
            "Comparator": requirement["Comparator"],
            "RequiredToPreview": guarded != "Accept",
            "ActionsGuarded": guarded,
        }
        if requirement.get("IntegerValues"):
            form["IntegerValues"] = list(requirement["IntegerValues"])
        if requirement.get("LocaleValues"):
            form["LocaleValues"] = [dict(locale) for locale in requirement["LocaleValues"]]
        standard_forms.append(form)
    return standard_forms


def _check(requirement: Requirement) -> None:
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    integers, locales = requirement.get("IntegerValues") or [], requirement.get("LocaleValues") or []
    existing_types = QualificationType.objects.filter(type_id=type_id, deleted_at=None)
    if not builtin_types.is_builtin(type_id) and not existing_types.exists():
        raise NotFound("QualificationType", type_id)
    if comparator in _PRESENCE:
        if integers or locales:
            raise _wrong(f"{comparator} must have no values.")
        return
    is_locale = type_id == builtin_types.LOCALE
    if is_locale and (integers or comparator not in ("EqualTo", "NotEqualTo", *_SETS)):
        raise _wrong("Compare a locale with LocaleValues, by EqualTo, NotEqualTo, In or NotIn.")
    if not is_locale and locales:
        raise _wrong("Only the locale qualification can have LocaleValues.")
    for locale in locales:
        if not countries.is_code(locale["Country"]):
            raise _wrong(f"“{locale['Country']}” is not a country code of ISO 3166, such as US.")
    values, most = (locales, MOST_LOCALES) if is_locale else (integers, MOST_INTEGERS)
    if comparator in _SETS and not 1 <= len(values) <= most:
        raise _wrong(f"{comparator} needs from 1 to {most} values.")
    if comparator not in _SETS and len(values) != 1:
        raise _wrong(f"{comparator} needs exactly one value.")


def _wrong(message: str) -> InvalidParameter:
    return InvalidParameter("QualificationRequirements", message)


class Standing:
    """What a worker has, read once for any number of requirements. Empty without a worker."""

    def __init__(self, worker: Worker | None, *, now: datetime | None = None) -> None:
        self.worker = worker
        self.now = now or clock.now()
        self._types: dict[str, QualificationType | None] = {}

    def learn(self, requirements: Iterable[Requirement]) -> None:
        """Read all types that these requirements name in one query, before `in_words` needs many of them."""
        unknown = (
            {requirement["QualificationTypeId"] for requirement in requirements} - self._types.keys() - _NAMES.keys()
        )
        if unknown:
            rows = QualificationType.objects.filter(type_id__in=unknown).defer("test", "answer_key")
            by_id = {row.type_id: row for row in rows}
            self._types |= {type_id: by_id.get(type_id) for type_id in unknown}

    def type_of(self, requirement: Requirement) -> QualificationType | None:
        """The type that a requirement names; None for the built-in ones, which nobody can request."""
        self.learn([requirement])
        return self._types.get(requirement["QualificationTypeId"])

    def unmet(self, requirements: Iterable[Requirement], *, action: str = "Accept") -> list[str]:
        """Why the worker cannot take this action ("Discover", "Preview" or "Accept"); empty if they can."""
        guarding = {"Discover": ACTIONS[:1], "Preview": ACTIONS[:2], "Accept": ACTIONS}[action]
        return [
            self.in_words(requirement)
            for requirement in requirements
            if requirement.get("ActionsGuarded", "Accept") in guarding and not self.meets(requirement)
        ]

    def meets(self, requirement: Requirement) -> bool:
        type_id: str = requirement["QualificationTypeId"]
        comparator: str = requirement["Comparator"]
        if type_id == builtin_types.LOCALE:
            country, subdivision = (self.worker.country, self.worker.subdivision) if self.worker else ("", "")
            if comparator in _PRESENCE:
                return bool(country) == (comparator == "Exists")
            is_in = any(
                country == locale["Country"] and locale.get("Subdivision", subdivision) == subdivision
                for locale in requirement.get("LocaleValues") or ()
            )
            return bool(country) and is_in == (comparator in ("EqualTo", "In"))
        value = self.value(type_id)
        if comparator == "DoesNotExist":
            return not self.has(type_id)
        if not self.has(type_id) or comparator == "Exists":
            return self.has(type_id)
        if value is None:
            return False
        limits: Sequence[int] = requirement["IntegerValues"]
        return {
            "LessThan": value < limits[0],
            "LessThanOrEqualTo": value <= limits[0],
            "GreaterThan": value > limits[0],
            "GreaterThanOrEqualTo": value >= limits[0],
            "EqualTo": value == limits[0],
            "NotEqualTo": value != limits[0],
            "In": value in limits,
            "NotIn": value not in limits,
        }[comparator]

    def has(self, type_id: str) -> bool:
        if type_id in (builtin_types.PERCENT_APPROVED, builtin_types.NUMBER_APPROVED):
            return self.worker is not None
        return type_id in self._granted

    def value(self, type_id: str) -> int | None:
        if type_id == builtin_types.NUMBER_APPROVED:
            return self._record[0]
        if type_id == builtin_types.PERCENT_APPROVED:
            approved, rejected = self._record
            decided = approved + rejected
            return 100 if decided < ENOUGH_FOR_PERCENT else approved * 100 // decided
        return self._granted.get(type_id)

    @cached_property
    def _granted(self) -> dict[str, int | None]:
        if self.worker is None:
            return {}
        granted = Qualification.objects.filter(worker=self.worker, status=Qualification.Status.GRANTED)
        return dict(granted.values_list("type__type_id", "value"))

    @cached_property
    def _record(self) -> tuple[int, int]:
        if self.worker is None:
            return 0, 0
        state = Assignment.State
        # Work counts as approved from then on, even if nothing has run since.
        due = Q(state=state.SUBMITTED, auto_approve_at__lte=self.now)
        counts = Assignment.objects.filter(worker=self.worker).aggregate(
            approved=Count("pk", filter=Q(state=state.APPROVED) | due),
            rejected=Count("pk", filter=Q(state=state.REJECTED)),
        )
        return counts["approved"], counts["rejected"]

    def in_words(self, requirement: Requirement) -> str:
        """The requirement and what the worker has, for the worker to read."""
        type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
        name = self.name(requirement)
        if comparator == "Exists":
            return _("%(name)s is required. You do not have it.") % {"name": name}
        if comparator == "DoesNotExist":
            return _("Only for workers without %(name)s.") % {"name": name}
        values = requirement.get("IntegerValues") or [
            _locale_in_words(locale) for locale in requirement.get("LocaleValues", ())
        ]
        condition = _(_WORDS[comparator]) % {"values": ", ".join(str(value) for value in values)}
        if type_id == builtin_types.LOCALE:
            have = (
                _locale_in_words({"Country": self.worker.country, "Subdivision": self.worker.subdivision})
                if self.worker
                else ""
            )
        else:
            have = str(self.value(type_id)) if self.has(type_id) else ""
        # Translators: %(condition)s is such as “at least 95”.
        text = (
            _("%(name)s must be %(condition)s; yours is %(have)s.")
            if have
            else _("%(name)s must be %(condition)s; you have none.")
        )
        return text % {"name": name, "condition": condition, "have": have}

    def name(self, requirement: Requirement) -> str:
        """The name of what a requirement is about, to begin a sentence."""
        type_id = requirement["QualificationTypeId"]
        if type_id in _NAMES:
            return _(_NAMES[type_id])
        type = self.type_of(requirement)
        return _("The qualification “%(name)s”") % {"name": type.name if type else type_id}


_NAMES = {
    builtin_types.LOCALE: marked("Your country"),
    builtin_types.PERCENT_APPROVED: marked("Your approval rate in percent"),
    builtin_types.NUMBER_APPROVED: marked("Your number of approved assignments"),
    builtin_types.MASTERS: marked("The Masters qualification"),
    builtin_types.MASTERS_SANDBOX: marked("The Masters qualification"),
    builtin_types.ADULT: marked("The adult content qualification"),
}


def _locale_in_words(locale: Mapping[str, str]) -> str:
    return "-".join(part for part in (locale["Country"], locale.get("Subdivision", "")) if part)
