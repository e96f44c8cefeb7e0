"""How each kind of question is put into words: in the report, in the methods of a paper and in its datasheet.

A module per kind, named after it, with ``WORDS``, an instance of `analysis.kinds.base.KindInWords`. A kind without a
module, such as one of a newer version, reads like a scale.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from analysis.kinds.base import KindInWords


@cache
def kind_in_words(kind: str) -> KindInWords:
    """The wording for questions of this kind."""
    installed = {module.name for module in pkgutil.iter_modules(__path__)} - {"base"}
    if kind not in installed:
        return KindInWords()
    words: KindInWords = importlib.import_module(f"{__name__}.{kind}").WORDS
    return words
