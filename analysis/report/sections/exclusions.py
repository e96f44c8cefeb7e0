"""What the study's exclusion rules leave out: how many submissions before and after, by rule, and what that changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from analysis.quality_control.exclusion import Exclusion
from analysis.report.blocks import Facts, Note, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from analysis.scores import item_scores
from common.words import counted

MakeResults = Callable[[Source], Sequence[Section]]


def make_section(source: Source, *, with_rules: Sequence[Section], make_results: MakeResults) -> Section | None:
    """None if the study has no exclusion rules.

    ``with_rules`` are the sections with the study's results, and ``make_results`` makes them again from the data
    without rules, which is only needed if the rules exclude something.
    """
    rules = Exclusion.of(source.description.exclude)
    if not rules:
        return None
    reviewed, used = source.data.reviewed, source.data.used
    excluded = len(reviewed) - len(used)
    section = Section(source.key("exclusions"), "Exclusion rules")
    section.data = {"before": len(reviewed), "after": len(used), "excluded": excluded}
    section.add(
        Facts(
            [
                ("Submissions before the rules", f"{len(reviewed):,}, without those that a person excluded"),
                ("Excluded by a rule", f"{excluded:,}"),
                ("Submissions in the analysis", f"{len(used):,}"),
            ]
        )
    )
    section.add_named("rules", rules_table(source, rules))
    if not excluded:
        section.add(Note("The rules exclude nothing, so all figures are the same with and without them."))
        return section
    if not len(used):
        section.add(Note("The rules exclude every submission, so nothing is left to analyse.", "warning"))
    without = Source(source.data.without_rules(), source.draws, source.seed, source.stops)
    section.add_named("scores", scores_table(source, without))
    without_rules = make_results(without)
    if (table := results_table(with_rules, without_rules)).records:
        section.add_named("results", table)
    failed = [result.title for result in without_rules if result.error is not None]
    if failed:
        text = f"Because of an error, these sections could not be made without the rules: {', '.join(failed)}."
        section.add(Note(text, "warning"))
    return section


def rules_table(source: Source, rules: Exclusion) -> Table:
    """How many submissions each rule excludes. One submission may be counted in several rows."""
    reviewed = source.data.reviewed
    worker_of = dict(zip(reviewed["submission"], reviewed["worker"], strict=True))
    broken_rules = {pk: keys for pk, keys in source.data.excluded_by_rule.items() if pk in worker_of}
    in_words = dict(rules.in_words())
    counts = []
    for rule in in_words:
        excluded = [pk for pk, keys in broken_rules.items() if rule in keys]
        counts.append(
            {
                "rule": rule,
                "submissions": len(excluded),
                "only_this_rule": sum(broken_rules[pk] == [rule] for pk in excluded),
                "workers": len({worker_of[pk] for pk in excluded}),
            }
        )
    columns = [
        Column("Rule", "text", shows=lambda record: in_words[record["rule"]]),
        Column("Submissions", shows="submissions"),
        Column("By this rule only", shows="only_this_rule"),
        Column("Workers", shows="workers"),
    ]
    return Table("By rule", columns, counts, "The rules were fixed at the launch. They exclude nothing from pay.")


def scores_table(source: Source, without: Source) -> Table:
    """The mean of the items' scores with and without the rules."""
    means = []
    for score in source.scores:
        after, before = (item_scores(data.ratings_on(score.topic), score) for data in (source, without))
        means.append(
            {
                "score": score.title,
                "without_rules": before["score"].mean(),
                "ratings_without_rules": int(before["n"].sum()),
                "with_rules": after["score"].mean(),
                "ratings_with_rules": int(after["n"].sum()),
            }
        )
    columns = [
        Column("Score", "text", shows="score"),
        Column("Without rules", shows="without_rules"),
        Column("Ratings", shows="ratings_without_rules"),
        Column("With rules", shows="with_rules"),
        Column("Ratings", shows="ratings_with_rules"),
    ]
    return Table("Mean score of the items, without and with the rules", columns, means)


def results_table(with_rules: Sequence[Section], without_rules: Sequence[Section]) -> Table:
    """The headline figures of each section that has results, without and with the rules."""
    results = []
    for after, before in zip_longest(headlines(with_rules), headlines(without_rules)):
        section, figure, _ = after or before
        results.append(
            {
                "section": section,
                "figure": figure,
                "without_rules": before[2] if before else "none",
                "with_rules": after[2] if after else "none",
            }
        )
    columns = [
        Column("Section", "text", shows="section"),
        Column("Figure", "text", shows="figure"),
        Column("Without rules", "text", shows="without_rules"),
        Column("With rules", "text", shows="with_rules"),
    ]
    return Table(f"{counted(len(results), 'main result')}, without and with the rules", columns, results)


def headlines(sections: Sequence[Section]) -> Iterator[tuple[str, str, str]]:
    """Section, name and value with its note of every headline figure."""
    for section in sections:
        for highlight in section.highlights:
            yield section.title, highlight.label, f"{highlight.value} {highlight.detail}".strip()
