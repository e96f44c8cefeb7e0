"""What quality control has found in a study: flags by rule, and what its exclusion rules leave out."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from django.db.models import Count

from analysis.quality_control.answer_rules import Rated
from analysis.quality_control.exclusion import Exclusion
from analysis.quality_control.rules import RULES, Settings
from analysis.quality_control.work import Check, first_answers
from annotation.many_ids import among
from annotation.models import Flag, Item, QualityCheck, Rating, Study, Submission
from annotation.task_types.checks import CHECK, ROLES
from annotation.work.left_out import excluded_by_rule, excluded_submissions, tries_of


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule: its threshold in words (empty: off), and how many submissions it flagged, of people and of simulated
    workers."""

    name: str
    label: str
    threshold: str
    people: int
    simulated: int


@dataclass(frozen=True, slots=True)
class ExclusionRow:
    """One exclusion rule in words, and how many submissions it leaves out."""

    words: str
    submissions: int


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A gold or attention item, and how many of the answers to it that can be wrong are right."""

    item: str
    role: str
    right: int
    answers: int

    @property
    def share(self) -> str:
        return f"{self.right / self.answers:.0%}" if self.answers else "–"


@dataclass(frozen=True, slots=True)
class Quality:
    """What the last check found. ``before``: submissions that no person excluded; ``after``: how many of those no rule
    excludes either."""

    rules: list[RuleRow]
    exclusions: list[ExclusionRow]
    checks: list[CheckRow]
    submissions: int
    before: int
    after: int
    last: QualityCheck | None

    @property
    def unchecked(self) -> int:
        """Submissions that arrived after the last check."""
        return self.submissions - (self.last.submissions if self.last else 0)


def quality_of(study: Study) -> Quality:
    """The figures of one study. Six queries, and those of its exclusion rules."""
    settings, rules = Settings.of(study.quality_control), Exclusion.of(study.exclusion)
    flagged: Counter[tuple[str, bool]] = Counter()
    rows = Flag.objects.filter(submission__study=study).values_list("reason", "submission__participant__synthetic")
    for reason, synthetic, n in rows.annotate(n=Count("submission", distinct=True)).order_by():
        flagged[reason, synthetic] += n
    why = excluded_by_rule(study)
    by_person = set(excluded_submissions(study))
    total = Submission.objects.filter(study=study).count()
    left_by_rule = {pk: rule_keys for pk, rule_keys in why.items() if pk not in by_person}
    rule_rows = []
    for rule in RULES:
        limit = settings.at(rule.name)
        threshold = "" if limit is None else rule.in_words(limit)
        people, simulated = flagged[rule.name, False], flagged[rule.name, True]
        rule_rows.append(RuleRow(rule.name, rule.label, threshold, people, simulated))
    return Quality(
        rules=rule_rows,
        exclusions=[
            ExclusionRow(words, sum(key in rule_keys for rule_keys in left_by_rule.values()))
            for key, words in rules.in_words()
        ],
        checks=check_rows(study),
        submissions=total,
        before=total - len(by_person),
        after=total - len(by_person) - len(left_by_rule),
        last=QualityCheck.objects.filter(study=study).first(),
    )


def check_rows(study: Study) -> list[CheckRow]:
    """The gold and attention items, those with the lowest share of right first answers first. Answers of people and of
    simulated workers count."""
    items = Item.objects.filter(study=study, role__in=ROLES).values_list("pk", "external_id", "role", "payload")
    checks = {pk: (name, role, check) for pk, name, role, payload in items if (check := Check.of(payload.get(CHECK)))}
    if not checks:
        return []
    ratings = Rating.objects.filter(item__in=among(checks)).order_by("pk")
    columns = ratings.values_list("item_id", "submission_id", "question", "target", "value", "text")
    together: dict[tuple[int, int], list[Rated]] = defaultdict(list)
    for item, submission, question, target, value, text in columns.iterator(10_000):
        together[item or 0, submission].append(Rated(question, target, value, text))
    right: Counter[int] = Counter()
    answers: Counter[int] = Counter()
    tries = tries_of(study, checks)
    for (item, submission), rated in together.items():
        verdicts = checks[item][2].verdicts(first_answers(rated, tries.get((submission, item), ())))
        right[item] += sum(verdicts)
        answers[item] += len(verdicts)
    rows = [CheckRow(name, role, right[pk], answers[pk]) for pk, (name, role, _) in checks.items()]
    return sorted(rows, key=lambda row: (row.role, row.right / row.answers if row.answers else 2, row.item))
