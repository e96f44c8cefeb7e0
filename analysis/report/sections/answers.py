"""Per question: the distribution of answers, and how much workers agree, as the level of the scale allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd

from analysis import plots
from analysis.agreement import (
    Ratings,
    fleiss_kappa,
    icc,
    krippendorff_alpha,
    noise_ceiling,
    percent_agreement,
    ratings_from_frame,
    split_half,
)
from analysis.agreement.krippendorff import Level as AlphaLevel
from analysis.description import QuestionDescription, Scale
from analysis.estimate import Estimate
from analysis.inference import mean_estimate, sd_estimate
from analysis.kinds import kind_in_words
from analysis.report.blocks import Figure, Fold, Heading, Highlight, Note, Part, Section
from analysis.report.estimates import attempt, number, with_interval
from analysis.report.sections.preference import for_agreement
from analysis.report.source import MANY_POINTS, NUMERIC, Source
from analysis.report.tables import Column, Table, estimates_table
from common.words import counted

#: Pairwise answers (one, the other, neither) are categories without an order.
ALPHA_LEVEL: dict[str, AlphaLevel] = {
    "ordinal": "ordinal",
    "nominal": "nominal",
    "interval": "interval",
    "pairwise": "nominal",
}
MOST_BARS = 25
#: The α of more questions would not be read in one sentence.
MOST_NAMED = 3
OPTION_NOTE = "Intervals are about new workers, and about new items where the question is about items."


def make_section(source: Source) -> Section:
    """A row per question with answers on a scale; folded, its distribution and all coefficients of agreement."""
    own_work = source.description.own_work
    section = Section(source.key("answers"), "Answers" if own_work else "Answers and agreement")
    questions = {topic: question for topic, question in source.questions.items() if question.scale.level != "text"}
    if not questions:
        section.add(Note("No question of this study is answered on a scale: all answers are texts."))
    elif own_work:
        section.add(
            Note("Workers answered about what they wrote themselves, so there is nothing for them to agree on.")
        )
    answered = [topic for topic in questions if not source.ratings_on(topic).empty]
    for topic in [topic for topic in questions if topic not in answered]:
        section.add(Note(f"Nobody has answered “{topic}” yet."))
        section.data[topic] = {"level": questions[topic].scale.level, "n": 0}
    unknown = [topic for topic in answered if topic in source.unknown]
    if unknown:
        this = "this question" if len(unknown) == 1 else "these questions"
        listed = ", ".join(unknown)
        text = f"The task type does not describe {this}, so answers count as numbers on an interval scale: {listed}."
        section.add(Note(text, "warning"))
    evidence = {topic: question_parts(source, section, topic, questions[topic]) for topic in answered}
    if answered and not (own_work and source.statement_topics.issuperset(answered)):  # nothing would be left to show
        section.add(questions_table(source, section, answered))
    for topic in answered:
        if questions[topic].scale.level == "nominal" and (options := section.data[topic].get("options")):
            figure = "share of each answer"
            if questions[topic].targets:
                figure = kind_in_words(questions[topic].kind).option_figure
            section.add(estimates_table(f"{topic}: {figure}", options, note=OPTION_NOTE))
            section.add(*printed_tables(source, questions[topic], options))
            # What became of suggestions has sections of its own.
            if not questions[topic].targets and (not own_work or is_about_no_item(source.ratings_on(topic))):
                section.answers.append((topic, shares_in_words(options)))
    for topic, parts in evidence.items():
        section.add(Fold(f"{topic}: distribution of answers, and agreement" if not own_work else topic, parts))
    if agreed := agreement_in_words(source, section):
        section.answers.append(("agreement", agreed))
    return section


def question_parts(source: Source, section: Section, topic: str, question: QuestionDescription) -> list[Part]:
    """What is folded about one question. Its numbers go into the section's data."""
    frame, level, key = source.ratings_on(topic), question.scale.level, source.key("q")
    counts = distribution(question.ratings_scale, frame["value"])
    centre = location(source, topic, frame) if level in NUMERIC and not question.targets else {}
    options = by_option(source, topic, question, frame)
    coefficients = agreement(source, question, frame)
    parts: list[Part] = [Heading(question.label)]
    if level != "pairwise":  # which text an item lists first says nothing; the section on preference names systems
        parts.append(bar_figure(key, topic, counts))
    if options and level != "nominal":  # shares of categories are shown above
        parts.append(
            estimates_table(f"{topic}: {kind_in_words(question.kind).option_figure}", options, note=OPTION_NOTE)
        )
    if centre:
        caption = f"{topic}: level and spread of {counted(len(frame), 'rating')}"
        parts.append(estimates_table(caption, centre, digits=2))
    if coefficients:
        parts.append(agreement_table(topic, level, frame, coefficients))
    elif not source.description.own_work:
        parts.append(Note("This question is not about an item, so there is nothing for workers to agree on."))
    section.data[topic] = {
        "level": level,
        "n": len(frame),
        "distribution": counts,
        "location": centre,
        "agreement": coefficients,
    }
    if options:
        section.data[topic]["options"] = dict(options)
    if topic in source.scored_topics:
        section.highlights += headline(topic, coefficients)
    return parts


def questions_table(source: Source, section: Section, topics: Sequence[str]) -> Table:
    """A row per question: number, mean, and the coefficients of agreement that readers ask for."""

    def coefficient(*beginnings: str) -> Callable[[str], Estimate | None]:
        return lambda topic: next(
            (value for name, value in section.data[topic]["agreement"].items() if name.startswith(beginnings)), None
        )

    def statistic(name: str) -> Callable[[str], Estimate | None]:
        return lambda topic: section.data[topic]["location"].get(name)

    def is_numeric(topic: str) -> bool:
        """Whether κ, which ignores how far apart two answers are, says less than α."""
        return section.data[topic]["level"] in NUMERIC

    levels = (
        Column("Mean", shows=statistic("Mean")),
        Column("s.d.", shows=lambda topic: value_of(statistic("Standard deviation")(topic))),
    )
    shown = (
        *(() if source.statement_topics >= {topic for topic in topics if is_numeric(topic)} else levels),
        Column("Krippendorff’s α", shows=coefficient("Krippendorff")),
        Column("Fleiss’ κ", shows=lambda topic: None if is_numeric(topic) else coefficient("Fleiss")(topic)),
        Column("Same answer", shows=lambda topic: value_of(coefficient("Percent")(topic))),
        Column("ICC(1,k)", shows=coefficient("ICC(1,k)")),
    )
    columns = [
        Column("Question", "name", shows=str),
        Column("Scale", "text", shows=lambda topic: section.data[topic]["level"]),
        Column("Answers", shows=lambda topic: section.data[topic]["n"]),
        *(column for column in shown if any(column.value(topic, 0) is not None for topic in topics)),
    ]
    titles = [column.title for column in columns]
    coefficients = "it and κ are" if "Fleiss’ κ" in titles else "it is"
    reliability = "ICC(1,k): how reliable the mean of an item is. " if "ICC(1,k)" in titles else ""
    note = (
        f"α is that of the scale’s level; {coefficients} 1 for full agreement and 0 for agreement by chance. Same "
        f"answer: the share of pairs of answers about one thing that are equal. {reliability}"
        "Intervals are about new items and, with five workers or more, other workers."
    )
    return Table("Questions", columns, topics, "" if source.description.own_work else note)


def printed_tables(source: Source, question: QuestionDescription, shares: Mapping[str, Estimate]) -> list[Table]:
    """How many writers gave each answer, in percent, as Clark 2021 prints it (Table 2.4). None of other questions."""
    topic, answers = question.topic, source.ratings_on(question.topic)
    if not source.description.own_work or question.targets or not is_about_no_item(answers):
        return []
    columns = [Column("Answer", "text"), Column("% of answers", digits=1)]
    rows = [(answer, 100 * share.value) for answer, share in shares.items()]
    note = f"Of {counted(len(answers), 'answer')}."
    return [Table(f"{topic}: percent of each answer, as published", columns, rows, note)]


def shares_in_words(shares: Mapping[str, Estimate]) -> str:
    """The most frequent answers with their shares."""
    most = sorted((name for name in shares if shares[name].value > 0), key=lambda name: -shares[name].value)
    most = most[:MOST_NAMED]
    return "; ".join(f"“{name}” {with_interval(shares[name])}" for name in most) + " of answers."


def value_of(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def agreement_in_words(source: Source, section: Section) -> str:
    """How far workers agree on the questions that give scores, then on those whose answers are categories.

    Empty if there is nothing to agree on.
    """
    alphas = [
        (topic, name, estimate)
        for topic in source.compared_topics
        for name, estimate in section.data.get(topic, {}).get("agreement", {}).items()
        if name.startswith("Krippendorff")
    ]
    defined = [(topic, name, estimate) for topic, name, estimate in alphas if not math.isnan(estimate.value)]
    if not defined:
        return f"Krippendorff’s α is not defined: {alphas[0][2].note}." if alphas else ""
    parts = []
    for name in dict.fromkeys(name for _, name, _ in defined):
        values = [(estimate, topic) for topic, other, estimate in defined if other == name]
        if len(values) > MOST_NAMED:
            values.sort(key=lambda pair: pair[0].value)
            (low, low_topic), (high, high_topic) = values[0], values[-1]
            ends = f"from {with_interval(low)} on {low_topic} to {with_interval(high)} on {high_topic}"
            parts.append(f"{name}, goes {ends}")
        else:
            listed = "; ".join(f"{with_interval(estimate)} on {topic}" for estimate, topic in values)
            parts.append(f"{name}: {listed}")
    return f"{'. '.join(parts)}. 1 is full agreement, 0 what chance gives."


def agreement_table(topic: str, level: str, frame: pd.DataFrame, coefficients: dict[str, Estimate]) -> Table:
    units = "items" if frame["unit"].nunique() == frame["item_code"].nunique() else "parts of items"
    note = f"A unit is what was rated: here {units}. " + explanation(level)
    if units != "items":
        note += " Parts of an item are resampled separately, as if they were independent."
    return estimates_table(f"{topic}: agreement ({level} scale)", coefficients, note=note)


def distribution(scale: Scale, values: pd.Series) -> pd.DataFrame:
    """The count of every point of the scale from its low end up, used or not; then other values in order, if any.

    If a scale has no points and many values, they are grouped into ten classes.
    """
    labels = {point.value: point.text for point in scale.points}
    counts_by_value = values.value_counts()
    if not labels and len(counts_by_value) > MOST_BARS:
        classes = pd.cut(values, 10).value_counts(sort=False)
        shares = classes / len(values)
        return pd.DataFrame(
            {"answer": [str(limits) for limits in classes.index], "n": classes.tolist(), "share": shares}
        )
    points = sorted(set(labels) | {float(value) for value in counts_by_value.index})
    counts = [int(counts_by_value.get(point, 0)) for point in points]
    return pd.DataFrame(
        {
            "answer": [labels.get(point, f"{point:g}") for point in points],
            "value": points,
            "n": counts,
            "share": [count / len(values) for count in counts],
        }
    )


def location(source: Source, topic: str, frame: pd.DataFrame) -> dict[str, Estimate]:
    """Mean and standard deviation of all ratings. Intervals are about new items and new workers.

    If the question is not about an item, or about the worker's own text, they are about new workers.
    """

    def make() -> dict[str, Estimate]:
        values, dimensions = frame["value"], source.dimensions_of(frame)
        return {
            "Mean": attempt(lambda: mean_estimate(values, dimensions, bounds=source.ends_of(topic))),
            "Standard deviation": attempt(lambda: sd_estimate(values, dimensions)),
        }

    return dict(source.remembered(("location", topic), make))


def by_option(
    source: Source, topic: str, question: QuestionDescription, frame: pd.DataFrame
) -> list[tuple[str, Estimate]]:
    """The share of answers that chose each option, or its mean rank in a ranking."""
    options = []
    bounds = source.ends_of(topic)
    if question.scale.level == "nominal" and not question.targets:
        dimensions = source.dimensions_of(frame)
        for point in question.ratings_scale.points:
            chosen = (frame["value"] == point.value).to_numpy(dtype=float)
            share = attempt(partial(mean_estimate, chosen, dimensions, bounds=(0, 1)), n_of="answers")
            options.append((point.label or point.key, share))
        return options
    for target, label in question.targets.items():
        rows = frame[frame["target"] == target]
        mean = Estimate(math.nan, n_of="answers", note="nobody has answered")
        if len(rows):
            dimensions = source.dimensions_of(rows)
            mean = attempt(partial(mean_estimate, rows["value"], dimensions, bounds=bounds), n_of="answers")
        options.append((label, mean))
    return options


def compares_nobody(source: Source, frame: pd.DataFrame) -> bool:
    """Whether workers answered about different things, so that they cannot agree or disagree."""
    return source.description.own_work or is_about_no_item(frame)


def is_about_no_item(frame: pd.DataFrame) -> bool:
    return Source.about_no_item(frame)


def as_ratings(question: QuestionDescription, frame: pd.DataFrame) -> Ratings:
    """Ratings with the scale's points as categories, including those that nobody chose."""
    points = sorted(point.value for point in question.scale.points)
    categories = points if points and set(frame["value"].unique()) <= set(points) else None
    return ratings_from_frame(frame, unit="unit", rater="worker_code", categories=categories)


def agreement(source: Source, question: QuestionDescription, frame: pd.DataFrame) -> dict[str, Estimate]:
    """The coefficients that the level of the scale allows; none if workers answered about different things.

    A coefficient that cannot be computed gives the reason.
    """
    if compares_nobody(source, frame):
        return {}
    return source.remembered(("agreement", question.topic), lambda: _coefficients(source, question, frame))


def _coefficients(source: Source, question: QuestionDescription, frame: pd.DataFrame) -> dict[str, Estimate]:
    level, draws, seed = question.scale.level, source.draws, source.seed
    both_orders, centre = False, None
    if level == "pairwise":
        frame, both_orders = for_agreement(source, frame)
    middles = [score.middle for score in source.scores if score.topic == question.topic and score.middle is not None]
    if middles or both_orders:  # how much better one of two things is, of which either may be the first
        points = [point.value for point in question.scale.points]
        middle = middles[0] if middles else 0.0
        both_orders = bool(points) and sorted(points) == sorted(2 * middle - value for value in points)
        centre = middle if both_orders else None
    ratings = as_ratings(question, frame)
    alpha = ALPHA_LEVEL[level]
    coefficients: dict[str, Callable[[], Estimate]] = {
        f"Krippendorff’s α, {alpha}": lambda: krippendorff_alpha(ratings, alpha, both_orders=both_orders)
    }
    if level != "interval":
        coefficients["Fleiss’ κ"] = lambda: fleiss_kappa(ratings, both_orders=both_orders)
        coefficients["Percent agreement"] = lambda: percent_agreement(ratings)
    if level in NUMERIC:
        coefficients["ICC(1,1)"] = lambda: icc(ratings, "1,1", centre=centre, crossed=True)
        coefficients["ICC(1,k)"] = lambda: icc(ratings, "1,k", centre=centre, crossed=True)
        coefficients["Split-half"] = lambda: split_half(ratings, seed=seed, centre=centre, crossed=True)
        coefficients["Noise ceiling"] = lambda: noise_ceiling(
            ratings, draws=draws, seed=seed, centre=centre, crossed=True
        )
    units = int((ratings.per_unit > 0).sum())
    return {name: attempt(coefficient, n=units) for name, coefficient in coefficients.items()}


def explanation(level: str) -> str:
    if level not in NUMERIC:
        return "α and κ are 1 for full agreement and 0 for agreement by chance; percent agreement ignores chance."
    return (
        "α and ICC(1,1) show how far single ratings agree (1 fully, 0 as by chance). ICC(1,k) and split-half show how "
        "reliable the mean rating of an item is, the noise ceiling how high a perfect metric could correlate with it. "
        "All intervals are about new items and new workers; 89 to 100% of such 95% intervals are right in simulations. "
        "Fleiss’ κ and percent agreement treat the points of the scale as categories: a near miss counts as a miss."
    )


def without_unused_ends(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts without the points at both ends of a long scale that nobody chose, such as 20 to 50 of a count."""
    used = counts["n"].to_numpy().nonzero()[0]
    return counts if len(counts) <= MANY_POINTS else counts.iloc[used[0] : used[-1] + 1]


def bar_figure(key: str, topic: str, counts: pd.DataFrame) -> Figure:
    """Bars from the top of the scale down, in the order that workers saw."""
    shown = without_unused_ends(counts)[::-1]
    total = int(counts["n"].sum())
    most = counts.iloc[int(counts["n"].argmax())]
    words = plots.Words(
        f"{key}-bars",
        f"Distribution of {topic}",
        f"{counted(total, 'rating')}; the most frequent answer is {most['answer']}, with {most['n']:,}.",
        x="Number of ratings",
    )
    svg = plots.bars(words, shown["answer"].tolist(), shown["n"].tolist())
    columns = [
        Column("Answer", "text", shows="answer"),
        Column("n", shows="n"),
        Column("Share", digits=3, shows="share"),
    ]
    caption = f"How often each answer to “{topic}” was given."
    if len(shown) < len(counts):
        first, last = counts["answer"].iloc[0], counts["answer"].iloc[-1]
        caption += f" The scale goes from {first} to {last}; nobody gave the answers that are not shown."
    return Figure(svg, caption, Table(words.title, columns, shown.to_dict("records")))


def headline(topic: str, coefficients: dict[str, Estimate]) -> list[Highlight]:
    """α of a question that gives scores."""
    highlights = []
    for name, alpha in coefficients.items():
        if name.startswith("Krippendorff"):
            detail = topic if math.isnan(alpha.low) else f"[{number(alpha.low)}, {number(alpha.high)}] {topic}"
            highlights.append(Highlight(name, number(alpha.value), detail))
    return highlights
