"""The built-in qualification types: from each worker's record and country, or granted by operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import IntegrityError, transaction

from marketplace import clock
from marketplace.models import QualificationType

LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
ADULT = "00000000000000000060"
MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
MASTERS_SANDBOX = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"
ALL_MASTERS = (MASTERS, MASTERS_SANDBOX)

_TYPES: dict[str, tuple[str, str]] = {
    LOCALE: ("Worker_Locale", "The country, and where known the state or province, of the worker."),
    PERCENT_APPROVED: (
        "Worker_PercentAssignmentsApproved",
        "The percentage of the worker's reviewed assignments that were approved.",
    ),
    NUMBER_APPROVED: ("Worker_NumberHITsApproved", "The number of the worker's assignments that were approved."),
    ADULT: ("Worker_Adult", "The worker is of age and willing to see content for adults; granted by the operator."),
    MASTERS: ("Masters", "Workers who have shown that they work well; granted by the operator."),
    MASTERS_SANDBOX: ("Masters (sandbox)", "The masters under the id that they have in MTurk's sandbox."),
}


def is_builtin(type_id: str) -> bool:
    return type_id in _TYPES


def asks_for_masters(requirements: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a HIT is for masters, which costs more."""
    return any(
        requirement["QualificationTypeId"] in ALL_MASTERS and requirement["Comparator"] != "DoesNotExist"
        for requirement in requirements
    )


def builtin_type(type_id: str) -> QualificationType:
    """The row of a built-in type, created when first needed."""
    existing = QualificationType.objects.filter(type_id=type_id).first()
    if existing:
        return existing
    name, description = _TYPES[type_id]
    try:
        with transaction.atomic():
            return QualificationType.objects.create(
                type_id=type_id,
                name=name,
                description=description,
                status="Active",
                requestable=False,
                created_at=clock.now(),
            )
    except IntegrityError:
        return QualificationType.objects.get(type_id=type_id)


def ensure_builtin_types() -> None:
    """Create all rows, for lists."""
    if QualificationType.objects.filter(type_id__in=_TYPES).count() < len(_TYPES):
        for type_id in _TYPES:
            builtin_type(type_id)
