"""Tables of accuracy by one factor and domain, as Clark 2021 prints them (Tables 6.1 and 6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from analysis.detection import OVERALL, Cell, Crossed, DomainTest, LevelPair, MeanTest
from analysis.detection.groups import GroupDifference
from analysis.estimate import Estimate, p_equals
from analysis.report.blocks import Fold, Heading, Note, Section
from analysis.report.estimates import NONE, number, with_interval
from analysis.report.sections.finding_sentences import larger_first
from analysis.report.tables import Column, Table
from common.words import counted

#: The measures of a group of answers after its accuracy: field, name, short name.
MEASURES = (
    ("f1", "F1", "F1"),
    ("precision", "Precision", "Precision"),
    ("recall", "Recall", "Recall"),
    ("alpha", "Krippendorff’s α", "α"),
    ("said_human", "Answered human", "Human"),
    ("confident", "Answered definitely", "Definitely"),
)
SIGNIFICANT = 0.05
PUBLISHED = (
    "The paper’s tests (Clark 2021, ch. 6) take one worker as one observation and the texts as fixed. Where texts "
    "differ in how hard they are, their p values are too small: use them to compare with the paper."
)


def significant_if(tests: int) -> str:
    """The limit for p in a family of tests at the level of 5%."""
    if tests == 1:
        return "significant if p < 0.05 (1 test, no correction)"
    return f"significant if p < {0.05 / tests:.3g} (Bonferroni, {counted(tests, 'test')})"


def add_crossed(section: Section, tables: Crossed, *, tests: int, domain: str) -> None:
    """Cells with their measures, differences between levels; folded, tests of every cell and between domains."""
    factor = tables.factor
    name = f"{factor} and {domain}" if domain else factor
    section.add(Heading(f"By {name}"))
    for other, levels in tables.only.items():
        section.add(Note(f"Only answers with {other} {', '.join(levels)}, where {factor} varies."))
    section.add(printed_table(tables, name, domain))
    section.add_named(f"cells by {factor}", measures_table(tables, name, domain))
    overall = [pair for pair in tables.pairs if pair.domain == OVERALL]
    if overall:
        section.answers.append((f"accuracy by {factor}", levels_in_words(tables, overall)))
        section.add_named(f"differences by {factor}", pairs_table(f"Accuracy between levels of {factor}", overall))
    folded = [chance_table(tables, name, domain, tests)]
    section.data[f"chance by {factor}"] = folded[0].records
    within = [pair for pair in tables.pairs if pair.domain != OVERALL]
    if within:
        section.data[f"differences by {factor} within {domain}"] = within
        folded.append(pairs_table(f"Accuracy between levels of {factor}, in every {domain}", within, domain=domain))
    if tables.domains:
        section.data[f"{domain}s within {factor}"] = tables.domains
        folded += domains_tables(tables, domain)
    section.add(Fold(f"Tests by {name}: against chance, and the paper’s", [Note(PUBLISHED), *folded]))


def levels_in_words(tables: Crossed, pairs: Sequence[LevelPair]) -> str:
    """Which levels differ in accuracy, over all domains."""
    cells = [cell for cell in tables.cells if cell.domain == OVERALL and cell.level != OVERALL]
    cells = sorted(cells, key=lambda cell: -cell.measures.accuracy.value)
    best, worst = cells[0], cells[-1]
    accuracies = ", ".join(f"{cell.level} {number(cell.measures.accuracy.value)}" for cell in cells)
    different = [pair.pair for pair in pairs if pair.pair.corrected < SIGNIFICANT]
    if different:
        largest = max(different, key=lambda pair: abs(pair.difference.value))
        more = f" {counted(len(different), 'pair')} of {len(pairs)} differ." if len(pairs) > 1 else ""
        return f"{accuracies}. {pair_in_words(largest)}.{more}"
    ends = {best.level, worst.level}
    largest = next(pair.pair for pair in pairs if {pair.pair.first, pair.pair.second} == ends)
    if math.isnan(largest.p):
        return f"{accuracies}. There is no test: {largest.difference.note or 'the answers do not vary enough'}."
    return f"{accuracies}: the data do not tell them apart. {pair_in_words(largest)}."


def pair_in_words(pair: GroupDifference) -> str:
    names, difference = larger_first(pair.first, pair.second, pair.difference)
    return f"{names}: {with_interval(difference)}, p {p_equals(pair.corrected)} (Holm)"


def measures_table(tables: Crossed, name: str, domain: str) -> Table:
    def value_of(field: str) -> Callable[[Cell], object]:
        return lambda cell: getattr(cell.measures, field).value

    columns = [
        *level_columns(tables.factor, domain),
        Column("Workers", shows=lambda cell: cell.measures.workers),
        Column("Accuracy", shows=lambda cell: cell.measures.accuracy),
        Column("p, chance", "p", shows="p_corrected"),
        *(Column(short, shows=value_of(field)) for field, _, short in MEASURES),
    ]
    note = (
        f"{missing_interval(tables.cells)}Accuracy is the share of right answers, of 1; its interval and p are about "
        f"new texts and new workers. p: against one half, corrected by Holm over {counted(len(tables.cells), 'row')}. "
        "F1, precision and recall are of the class machine. α is nominal on two classes. Human, definitely: shares of "
        "these answers. As in Clark (2021), Tables 6.1 and 6.2."
    )
    return Table(f"Accuracy and related measures by {name}", columns, tables.cells, note)


def printed_table(tables: Crossed, name: str, domain: str) -> Table:
    """A row per cell with all shares in percent, in the layout of Clark 2021 (Tables 6.1 and 6.2)."""

    def percent(field: str) -> Callable[[Cell], float]:
        return lambda cell: 100 * getattr(cell.measures, field).value

    shares = {"Accuracy": "accuracy"} | {short: field for field, _, short in MEASURES}
    columns = [
        *level_columns(tables.factor, domain),
        *(
            Column(short, shows=lambda cell: cell.measures.alpha.value)
            if field == "alpha"
            else Column(f"{short}, %", shows=percent(field))
            for short, field in shares.items()
        ),
    ]
    note = "Percent of a row’s answers; α is a coefficient. The next table has the same as shares of 1, with intervals."
    return Table(f"Accuracy and related measures by {name} in percent, as published", columns, tables.cells, note)


def missing_interval(cells: Sequence[Cell]) -> str:
    """Why some rows have no interval, if any."""
    reasons = dict.fromkeys(cell.measures.accuracy.note for cell in cells if cell.measures.accuracy.note)
    return "".join(f"A row without interval: {reason}. " for reason in reasons)


def level_columns(factor: str, domain: str) -> list[Column]:
    columns = [Column(factor.capitalize(), "text", shows="level")]
    return columns + ([Column(domain.capitalize(), "text", shows="domain")] if domain else [])


def chance_table(tables: Crossed, name: str, domain: str, tests: int) -> Table:
    columns = [
        *level_columns(tables.factor, domain),
        Column("Answers", shows=lambda cell: cell.measures.accuracy.n),
        Column("p", "p", shows=lambda cell: cell.measures.p_chance),
        Column("p, Holm", "p", shows="p_corrected"),
        *published_columns(tables.cells, lambda cell: cell.published),
        Column("Paper’s p × tests", "p", shows=lambda cell: cell.published.corrected if cell.published else None),
    ]
    note = (
        "p: two-sided, of accuracy against one half, for new texts and new workers. The paper’s: one-sample t test of "
        f"workers’ accuracies against 0.5, two-sided; {significant_if(tests)}. Its n is the number of workers here."
    )
    return Table(f"Against chance by {name}", columns, tables.cells, note)


def published_columns(records: Sequence[object], test_of: Callable[..., object]) -> list[Column]:
    """The mean or difference over workers, t with its degrees of freedom and Cohen's d of t tests, p."""

    def part(name: str) -> Callable[[object], object]:
        return lambda record: getattr(test_of(record), name, None)

    def t(record: object) -> str:
        test = test_of(record)
        if not isinstance(test, MeanTest) or math.isnan(test.t):
            return NONE
        return f"t({test.df:.0f}) = {number(test.t)}"

    def size(record: object) -> Estimate | None:
        test = test_of(record)
        if test is None:
            return None
        return test.mean if isinstance(test, MeanTest) else getattr(test, "difference", None)

    columns = [Column("Over workers", digits=3, shows=size), Column("Paper’s p", "p", shows=part("p"))]
    if any(isinstance(test_of(record), MeanTest) for record in records):
        columns[1:1] = [Column("Paper’s t", "code", shows=t), Column("Cohen’s d", shows=part("d"))]
    return columns


def pairs_table(caption: str, pairs: Sequence[LevelPair], *, domain: str = "") -> Table:
    columns = [
        *([Column(domain.capitalize(), "text", shows="domain")] if domain else []),
        Column("Levels", "text", shows=lambda record: f"{record.pair.first} − {record.pair.second}"),
        Column("Difference", digits=3, shows=lambda record: record.pair.difference),
        Column("p", "p", shows=lambda record: record.pair.p),
        Column("p, Holm", "p", shows=lambda record: record.pair.corrected),
        *published_columns(pairs, lambda record: record.published),
    ]
    several = any(record.published and not isinstance(record.published, MeanTest) for record in pairs)
    test = "Tukey’s HSD, which is corrected" if several else "two-sample t test, equal variances"
    family = f"the pairs of a {domain}" if domain else counted(len(pairs), "pair")
    note = (
        "Difference of the shares of right answers, about new texts and new workers; corrected by Holm over "
        f"{family}. The paper’s, on workers’ own accuracies, with texts as fixed: {test}, two-sided."
    )
    return Table(caption, columns, pairs, note)


def domains_tables(tables: Crossed, domain: str) -> list[Table]:
    """Pairs of domains within every level, and the paper's test of all domains."""
    pairs = [{"level": test.level, "pair": pair} for test in tables.domains for pair in test.pairs]
    columns = [
        Column(tables.factor.capitalize(), "text", shows="level"),
        Column(f"{domain.capitalize()}s", "text", shows=lambda row: f"{row['pair'].first} − {row['pair'].second}"),
        Column("Difference", digits=3, shows=lambda row: row["pair"].difference),
        Column("p", "p", shows=lambda row: row["pair"].p),
        Column("p, Holm", "p", shows=lambda row: row["pair"].corrected),
    ]
    note = f"About new texts and new workers. Holm’s correction is over the pairs within each {tables.factor}."
    own = Table(f"Accuracy between {domain}s", columns, pairs, note)

    def statistic(record: DomainTest) -> str:
        test = record.anova
        return NONE if test is None else f"F({test.df_between}, {test.df_within}) = {test.f:.2f}"

    columns = [
        Column(tables.factor.capitalize(), "text", shows="level"),
        Column("Statistic", "code", shows=statistic),
        Column("p", "p", shows=lambda record: record.anova.p if record.anova else None),
        Column("η²", digits=3, shows=lambda record: record.anova.eta_squared if record.anova else None),
    ]
    note = "One-way analysis of variance of workers’ own accuracies, not corrected. Texts count as fixed."
    return [own, Table(f"The paper’s test between {domain}s", columns, tables.domains, note)]
