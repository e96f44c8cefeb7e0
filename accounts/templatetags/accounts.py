"""Template filters for questions about the user."""

from __future__ import annotations

from django import template

from accounts import roles

register = template.Library()


@register.filter
def is_researcher(user: roles.AnyUser) -> bool:
    return roles.is_researcher(user)
