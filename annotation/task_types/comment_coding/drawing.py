"""The comments to code: a random sample of authors from each domain, one comment each (Clark 2021, app. C.3)."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

from annotation.task_types.items import SourceOutput
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted

DOMAIN = "domain"


def draw_comments(outputs: Sequence[SourceOutput], *, authors: int, seed: int) -> list[SourceOutput]:
    """From each domain, ``authors`` authors drawn without replacement, and one of the comments of each.

    The domain is that of the item that the comment is about. Every author, and every comment of an author, is equally
    likely. The result is in the order of ``outputs``. An author who commented in two domains can be drawn in both.
    Raises Invalid if there are no comments, or fewer authors in a domain.
    """
    if not outputs:
        fix = "Import again when people have taken part. Excluded submissions do not count."
        raise invalid("items", "That study has no comments yet.", fix)
    domains: dict[str, dict[str, list[SourceOutput]]] = defaultdict(lambda: defaultdict(list))
    for each in outputs:
        domains[each.cells.get(DOMAIN, "").strip()][each.author].append(each)
    refuse_if_any([_too_few(domain, len(by), authors) for domain, by in domains.items() if len(by) < authors])
    drawn = {id(each) for domain, by in domains.items() for each in _draw(by, authors, f"{seed}/{domain}")}
    return [each for each in outputs if id(each) in drawn]


def _draw(by_author: Mapping[str, Sequence[SourceOutput]], authors: int, seed: str) -> list[SourceOutput]:
    rng = random.Random(seed)
    chosen = rng.sample(sorted(by_author), authors)
    return [rng.choice(sorted(by_author[name], key=lambda each: each.id)) for name in chosen]


def _too_few(domain: str, there: int, wanted: int) -> Problem:
    where = f"In the domain “{domain[:60]}”, " if domain else ""
    what = f"{where}{counted(there, 'author')} wrote comments, but {wanted:,} are to be drawn."
    fix = f"Collect more answers in that study, or set “Authors per domain” (authors_per_domain) to {there:,}."
    return Problem("items", what[0].upper() + what[1:], fix)
