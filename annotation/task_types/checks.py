"""Gold and attention items of every type: rows of an items file with right answers in further columns.

``gold:TOPIC`` or ``attention:TOPIC`` contains the right answer to a question (``4``, or ``4|5`` for either);
``training:TOPIC`` that of an item of the training round. For one part of the item, the column is ``gold:TOPIC/TARGET``.
``gold_tolerance`` is how far a number may be off, ``gold_explanation`` what workers read afterwards, and
``gold_explanation:TOPIC`` what they read about one question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from analysis.description import QuestionDescription
from analysis.quality_control.answer_rules import AnswerRule
from analysis.quality_control.work import Check
from annotation.task_types.answer_rules import RuleError, RulesRead
from annotation.task_types.asked_about import AskedAbout
from annotation.task_types.base import TaskType
from annotation.task_types.items import ANSWERED_ROLES, ItemData, Json, Role, Row, RowProblem
from annotation.task_types.labels import check_number, number_in

#: Of items among the tasks.
ROLES: tuple[Role, Role] = ("gold", "attention")
TRAINING: Role = "training"
TOLERANCE, EXPLANATION, ROLE = "gold_tolerance", "gold_explanation", "role"
#: The key of an item's `Check` in its payload.
CHECK = "check"
LONGEST_EXPLANATION = 2_000


def check_of(item: ItemData) -> Check | None:
    """The right answers of a gold, attention or training item; None for any other."""
    return Check.of(item.payload.get(CHECK))


def attach_checks(
    task: TaskType, items: Sequence[ItemData], rows: Sequence[Row], config: Json
) -> tuple[list[ItemData], list[RowProblem]]:
    """The items, those with right answers with their roles and these answers, and the problems with those."""
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    answer_columns = [name for name in columns if name.partition(":")[0] in ANSWERED_ROLES and ":" in name]
    explanations = [name for name in columns if name.startswith(f"{EXPLANATION}:")]
    has_role = any(row.cells.get(ROLE, "").strip() in ANSWERED_ROLES for row in rows)
    if not (answer_columns or explanations or has_role):
        return list(items), []
    wording = {text.name: text.default for text in task.texts(config)}
    questions = {question.topic: question for question in task.describe_questions(config, wording)}
    examples = {question.topic: question for question in task.questions(config, wording)}

    def asked_about(item: ItemData | None, topic: str, part: str) -> AskedAbout:
        return AskedAbout(task, item, config, wording, topic, part, examples.get(topic))

    problems = [problem for name in (*answer_columns, *explanations) for problem in _column_problems(name, questions)]
    unknown_columns = {problem.column for problem in problems}
    answer_columns = [name for name in answer_columns if name not in unknown_columns]
    explanations = [name for name in explanations if name not in unknown_columns]
    further = [*answer_columns, *explanations]
    row_of = {row.number: row for row in rows}
    checked = []
    for item in items:
        row = next(
            (row_of[number] for number in item.rows if number in row_of and _has_check(row_of[number], further)),
            None,
        )
        if row is None or _filled(row, unknown_columns):
            checked.append(item)
            continue
        reader = _Reader(row, item, answer_columns, questions, partial(asked_about, item), explanations)
        checked.append(reader.read())
        problems += reader.problems
    if not items:  # something else is wrong with the file; the right answers are checked all the same
        for row in row_of.values():
            if _has_check(row, further) and not _filled(row, unknown_columns):
                about = partial(asked_about, None)
                reader = _Reader(row, ItemData("", {}), answer_columns, questions, about, explanations)
                reader.read()
                problems += reader.problems
    return checked, problems


def _filled(row: Row, columns: Collection[str]) -> bool:
    return any(row.cells.get(name, "").strip() for name in columns)


def _column_problems(name: str, questions: Mapping[str, QuestionDescription]) -> list[RowProblem]:
    topic, _, part = name.partition(":")[2].partition("/")
    question = questions.get(topic)
    if question is None:
        what = f"The study has no question “{topic[:40]}”."
        return [RowProblem(0, name, what, f"Name one of its questions: {', '.join(questions)}.")]
    if part and question.targets and part not in question.targets:
        what = f"The question “{topic}” has no part “{part[:40]}”."
        return [RowProblem(0, name, what, f"Name one of its parts: {', '.join(question.targets)}.")]
    return []


def _has_check(row: Row, further: Sequence[str]) -> bool:
    columns = (*further, TOLERANCE, EXPLANATION)
    return row.cells.get(ROLE, "").strip() in ANSWERED_ROLES or any(row.cells.get(name, "").strip() for name in columns)


@dataclass
class _Reader:
    """Reads the check of one item and collects its problems."""

    row: Row
    item: ItemData
    answer_columns: Sequence[str]
    questions: Mapping[str, QuestionDescription]
    asked_about: Callable[[str, str], AskedAbout]
    explanation_columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.problems: list[RowProblem] = []

    def read(self) -> ItemData:
        filled = [name for name in self.answer_columns if self.row.cells.get(name, "").strip()]
        roles = {name.partition(":")[0] for name in filled}
        role_cell = self.row.cells.get(ROLE, "").strip()
        if not filled:
            self._refuse_without_answer(role_cell)
            return self.item
        roles |= {role_cell} & set(ANSWERED_ROLES)
        if len(roles) > 1:
            what = "The item is both a gold item and an attention check."
            if TRAINING in roles:
                what = f"The item is for the training and also {' and '.join(sorted(roles - {TRAINING}))}."
            self._problem(filled[0], what, "Choose one of them.")
        elif self.item.role != "main":
            article = "an" if self.item.role[0] in "aeiou" else "a"
            what = f"The item is already {article} {self.item.role} item."
            self._problem(filled[0], what, "Remove its right answer.")
        role: Role = next(role for role in ANSWERED_ROLES if role in roles)
        tolerance = self._tolerance()
        answers: dict[str, list[str]] = {}
        rules: dict[str, Sequence[AnswerRule]] = {}
        for name in filled:
            place = name.partition(":")[2]
            read = self._rules(name)
            if read is not None and read.rules:
                rules[place] = read.rules
            answers[place] = self._answers(name, self.row.cells[name] if read is None else read.plain, tolerance, read)
        check = Check(
            role,
            {name: right for name, right in answers.items() if right or name not in rules},
            tolerance,
            self._explanation(EXPLANATION),
            rules,
            {
                name.partition(":")[2]: explanation
                for name in self.explanation_columns
                if (explanation := self._explanation(name))
            },
        )
        return replace(self.item, role=role, payload={**self.item.payload, CHECK: check.stored()})

    def _explanation(self, column: str) -> str:
        explanation = self.row.cells.get(column, "").strip()
        if len(explanation) > LONGEST_EXPLANATION:
            what = f"The explanation has {len(explanation):,} characters."
            self._problem(column, what, f"Shorten it to {LONGEST_EXPLANATION:,}.")
        return explanation

    def _refuse_without_answer(self, role: str) -> None:
        if role in ANSWERED_ROLES:
            what = f"This {role} item has no right answer."
            fix = f"Write it in a column {role}:TOPIC, such as {role}:{next(iter(self.questions), 'question')}."
            self._problem(f"{role}:", what, fix)
            return
        for name in (TOLERANCE, EXPLANATION, *self.explanation_columns):
            if self.row.cells.get(name, "").strip():
                what = f"The column {name} is only for items with a right answer, and this one has none."
                self._problem(name, what, "Write the right answer in a column gold:TOPIC, or clear this cell.")

    def _tolerance(self) -> float:
        cell = self.row.cells.get(TOLERANCE, "").strip()
        if not cell:
            return 0.0
        if wrong := check_number(cell):
            self._problem(TOLERANCE, *wrong)
            return 0.0
        number = number_in(cell)
        if number < 0:
            self._problem(TOLERANCE, f"The tolerance {cell[:20]} is below 0.", "Write how far a number may be off.")
        return max(0.0, number)

    def _rules(self, name: str) -> RulesRead | None:
        """The rules in one cell; None if it has plain answers, or a rule with a problem."""
        topic, _, part = name.partition(":")[2].partition("/")
        about = self.asked_about(topic, part)
        if about.example is None:
            return None
        try:
            read = about.example.rules_in(self.row.cells[name], about)
        except RuleError as error:
            self._problem(name, error.what, error.fix)
            return RulesRead(())
        if read is not None and self.row.cells.get(TOLERANCE, "").strip():
            what = f"The column {name} has a rule, which leaves no room for a tolerance."
            self._problem(TOLERANCE, what, "Clear this cell, and say in the rule how far an answer may be off.")
        return read

    def _answers(self, name: str, cell: str, tolerance: float, read: RulesRead | None) -> list[str]:
        """The plain right answers in one cell. Names of points become their numbers."""
        question = self.questions[name.partition(":")[2].partition("/")[0]]
        parts = [part.strip() for part in cell.split("|") if part.strip()]
        points = question.ratings_scale.points
        if not points:
            return parts
        by_name = {point.label.casefold(): point.key for point in points if point.label}
        keys = {point.key for point in points}
        right = []
        for part in parts:
            number = number_in(part) if check_number(part) is None else None
            key = f"{number:g}" if number is not None and f"{number:g}" in keys else by_name.get(part.casefold())
            if key is None:
                shown = ", ".join(point.text for point in sorted(points, key=lambda point: point.value))
                self._problem(name, f"“{part[:40]}” is no answer to this question.", f"Write one of {shown}.")
            else:
                right.append(key)
        rules = {question.topic: read.rules} if read else {}
        check = Check("gold", {question.topic: right}, tolerance, rules=rules)
        if (right or rules.get(question.topic)) and all(
            check.is_right(question.topic, "", point.value) for point in points
        ):
            what = "Every answer would be right."
            self._problem(name, what, f"Name fewer answers, or lower {TOLERANCE}.")
        return right

    def _problem(self, column: str, what: str, fix: str) -> None:
        self.problems.append(RowProblem(self.row.number, column, what, fix))
