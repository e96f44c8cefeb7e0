"""Templates compiled once for each language and each study's own wording: a page's texts are in it like any others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.template.engine import Engine
from django.template.loaders import cached

from common.languages import ENGLISH, LANGUAGES, spoken_key

#: Studies with wordings of their own whose templates a process keeps.
MOST_VOICES = 50


class Loader(cached.Loader):
    """Django's cache of templates, with the language of the request and a study's own wordings in its keys."""

    def cache_key(self, template_name: str, skip: Any = None) -> str:
        key = super().cache_key(template_name, skip) if skip else template_name
        voice = spoken_key()
        if voice == ENGLISH:
            return key
        if voice not in LANGUAGES:
            self._voices.pop(voice, None)
            self._voices[voice] = None
            if len(self._voices) > MOST_VOICES:  # forget the templates of the study whose pages were read longest ago
                oldest = next(iter(self._voices))
                self._voices.pop(oldest, None)  # another thread may have done it
                for cached in [cached for cached in list(self.get_template_cache) if cached.startswith(f"{oldest} ")]:
                    self.get_template_cache.pop(cached, None)
        return f"{voice} {key}"

    def __init__(self, engine: Engine, loaders: Sequence[Any]) -> None:
        super().__init__(engine, loaders)
        self._voices: dict[str, None] = {}
