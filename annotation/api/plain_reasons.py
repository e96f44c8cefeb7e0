"""What is wrong and how to fix it, in plain words: for values of a wrong form, and for what does not exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.http import Http404
from django.urls import Resolver404, resolve
from django.utils.text import camel_case_to_spaces

SEE_SCHEMA = "See what this address takes: /api/v1/docs/."
#: Between what cannot be chosen and what can.
CHOOSE = " Choose one of "
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Words = tuple[str, str]
#: By the framework's code of a reason: what is wrong and how to fix it. The first number of its text is N.
_WORDS: dict[str, Words] = {
    "required": ("It is missing.", "Add this key."),
    "null": ("It is null.", "Send a value, or leave the key out."),
    "blank": ("It is empty.", "Write a text."),
    "empty": ("It is empty.", "Name at least one."),
    "min_value": ("It is less than N.", "Send N or more."),
    "max_value": ("It is more than N.", "Send N or less."),
    "max_decimal_places": ("It has more than N decimals.", "Round it to N decimals."),
    "max_digits": ("It has more than N digits.", "Send a smaller number, or one with fewer decimals."),
    "max_whole_digits": ("It has more than N digits before the point.", "Send a smaller number."),
    "max_string_length": ("It is too long for a number.", "Send a shorter one."),
    "not_a_list": ("It is not a list.", "Send a JSON list, such as [1, 2]."),
    "not_a_dict": ("It is not an object.", 'Send a JSON object, such as {"name": "value"}.'),
}
#: What the framework writes for the code “invalid”, which many fields share.
_INVALID: dict[str, Words] = {
    "A valid integer": ("It is not a whole number.", "Send a number without decimals."),
    "A valid number": ("It is not a number.", "Send a number, such as 0.50."),
    "Must be a valid boolean": ("It is neither true nor false.", "Send true or false."),
    "Not a valid boolean": ("It is neither true nor false.", "Send true or false."),
    "Not a valid string": ("It is not a text.", "Send a JSON string."),
    "Datetime has wrong format": ("It is not a date with a time.", "Write it as 2026-11-30T12:00:00Z."),
    "Invalid data": ("It is not an object.", 'Send a JSON object, such as {"name": "value"}.'),
}
#: What a name in “No such …” or “No … matches” is called, and the parameter of the address that names it.
_NOUNS: dict[str, Words] = {
    "study": ("study", "slug"),
    "team": ("team", "team"),
    "run": ("run", "name"),
    "ApiJob": ("job", "id"),
    "ApiToken": ("token", "id"),
    "Invitation": ("personal link", "id"),
    "Media": ("image", "id"),
    "Participant": ("worker", "pseudonym"),
    "PlatformAccount": ("platform account", "account"),
    "WebhookDelivery": ("message", "delivery"),
}
_MISSING = re.compile(r"No (?:such )?(\w+)(?: matches the given query)?\.")


def plain_words(text: str, code: str) -> Words:
    """The framework's reason in plain words, and a fix. Reasons of this project stay as they are."""
    number = _NUMBER.search(text)
    if code in ("max_length", "min_length") and number:
        of_list, limit = "element" in text, number.group()
        if code == "min_length":
            return ("It is too short.", f"Send at least {limit} {'entry' if limit == '1' else 'entries'}.")
        what = "entries" if of_list else "characters"
        return f"It has more than {limit} {what}.", "Send fewer." if of_list else "Shorten it."
    if code == "invalid_choice" and CHOOSE in text:
        reason, _, choices = text.partition(CHOOSE)
        return reason, CHOOSE.lstrip() + choices
    if code == "invalid":
        return next((words for start, words in _INVALID.items() if text.startswith(start)), (text, SEE_SCHEMA))
    reason, fix = _WORDS.get(code, (text, SEE_SCHEMA))
    limit = number.group() if number else ""
    return (reason, fix) if "N" not in reason else (reason.replace("N", limit), fix.replace("N", limit))


def missing(error: Http404, route: str, kwargs: Mapping[str, Any]) -> tuple[str, str, str]:
    """The parameter that names nothing, what is wrong, and where to look. The parameter is empty if it is not known."""
    text = str(error)
    name = _MISSING.fullmatch(text)
    if name is None:
        return "", text or "There is nothing at this address.", ""
    noun, parameter = _NOUNS.get(name[1], (camel_case_to_spaces(name[1]), "id"))
    if parameter not in kwargs:
        parameter = ([key for key in kwargs if key != "slug"] or ["slug"])[-1]
    # Who has no right to do this with a study is told the same as who does not know that it exists.
    ending = ", or your role in it does not allow this" if noun in ("study", "team") else " that you can see"
    what = f"There is no {noun} “{str(kwargs.get(parameter, ''))[:60]}”{ending}."
    return parameter, what, _where_to_look(route, kwargs, parameter)


def _where_to_look(route: str, kwargs: Mapping[str, Any], parameter: str) -> str:
    """The address that lists what the parameter names, in a sentence; empty if there is none."""
    start, named, _ = route.partition(f":{parameter}>")
    if not named:
        return ""
    before = start[: start.rindex("<")]
    address = "/" + re.sub(r"<\w+:(\w+)>", lambda name: str(kwargs[name[1]]), before)
    try:
        view: Any = resolve(address).func
    except Resolver404:
        return ""
    return f"Get the list: {address}" if hasattr(view.view_class, "get") else ""
