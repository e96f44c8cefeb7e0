"""Rows that are inserted by hand hold the values that the ORM would store."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Model

from annotation import sql
from annotation.models import Payment, Step

SAMPLES: dict[type | None, list[object]] = {
    int: [0, 7],
    float: [1.5],
    bool: [True, False],
    str: ["", "naïve 😀"],
}
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "model", list(apps.get_app_config("annotation").get_models()), ids=lambda model: model.__name__
)
def test_a_value_that_is_stored_as_it_is_would_not_be_changed_by_its_field(model: type[Model]) -> None:
    names = tuple(field.attname for field in model._meta.concrete_fields)
    for field, plain in sql._fields(model, names):
        for value in SAMPLES.get(plain, []):
            adapted = field.get_db_prep_save(value, connection)
            assert (type(adapted), adapted) == (type(value), value), field


def test_other_values_are_adapted_by_their_fields() -> None:
    values = {"assignment": 3, "number": 0, "answers": {"a": "ü"}, "received_at": datetime(2026, 11, 1, tzinfo=UTC)}
    _, stored = sql.insertion(Step, values)
    by_orm = [sql._field(Step, name).get_db_prep_save(value, connection) for name, value in values.items()]
    assert [str(value) for value in stored] == [str(value) for value in by_orm]
    _, (amount,) = sql.insertion(Payment, {"amount": Decimal("0.18")})
    assert Decimal(amount) == Decimal("0.18")
