"""Templates compiled once for each language: the texts of a page are in it like those of any template."""

from __future__ import annotations

from typing import Any

from django.template.loaders import cached

from common.languages import ENGLISH, spoken_code


class Loader(cached.Loader):
    """Django's cache of templates, with the language of the request in its keys."""

    def cache_key(self, template_name: str, skip: Any = None) -> str:
        key = super().cache_key(template_name, skip) if skip else template_name
        code = spoken_code()
        return key if code == ENGLISH else f"{code} {key}"
