"""The comments to code: a random sample of authors from each domain, one comment each (Clark 2021, app. C.3)."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

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
    for output in outputs:
        domains[output.cells.get(DOMAIN, "").strip()][output.author].append(output)
    problems = []
    for domain, by_author in domains.items():
        if (count := len(by_author)) < authors:
            where = f"In the domain “{domain[:60]}”, " if domain else ""
            what = f"{where}{counted(count, 'author')} wrote comments, but {authors:,} are to be drawn."
            fix = f"Collect more answers in that study, or set “Authors per domain” (authors_per_domain) to {count:,}."
            problems.append(Problem("items", what[0].upper() + what[1:], fix))
    refuse_if_any(problems)
    drawn: set[int] = set()
    for domain, by_author in domains.items():
        rng = random.Random(f"{seed}/{domain}")
        for author in rng.sample(sorted(by_author), authors):
            drawn.add(rng.choice(sorted(output.id for output in by_author[author])))
    return [output for output in outputs if output.id in drawn]
