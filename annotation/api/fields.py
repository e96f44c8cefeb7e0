"""Fields and bases of what the API reads and answers: money as text, and inputs that refuse unknown names."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar

from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.plain_reasons import CHOOSE
from common.problems import refuse_if_any, unknown

Sent = TypeVar("Sent", bound="Input")


class Money(serializers.DecimalField):
    """USD as text with three decimals, such as ``"0.180"``, so that no program rounds it."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", "USD.")
        super().__init__(max_digits=14, decimal_places=3, **kwargs)


class Amount(serializers.DecimalField):
    """USD that a program sends: text or a number in whole cents."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", "USD in whole cents, such as `0.50`.")
        super().__init__(max_digits=10, decimal_places=2, min_value=Decimal(0), **kwargs)


class Input(serializers.Serializer[Any]):
    """The JSON object of a request."""

    def get_fields(self) -> dict[str, Any]:
        """As declared. A choice that does not exist is refused with those that do."""
        fields: dict[str, Any] = super().get_fields()
        for field in fields.values():
            choice = getattr(field, "child", field)
            if isinstance(choice, serializers.ChoiceField):
                words = ", ".join(map(str, choice.choices))
                choice.error_messages["invalid_choice"] = f"“{{input}}” cannot be used.{CHOOSE}{words}."
        return fields

    @classmethod
    def of(cls, request: Request) -> dict[str, Any]:
        """The checked values. Raises ValidationError, and Invalid for names that it does not have."""
        data = request.data
        sent = cls(data=data)
        if isinstance(data, Mapping):
            refuse_if_any([unknown(str(name), str(name), sent.fields) for name in data if name not in sent.fields])
        sent.is_valid(raise_exception=True)
        return dict(sent.validated_data)


class Nothing(Input):
    """A request without a body."""
