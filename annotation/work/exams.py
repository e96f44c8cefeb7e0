"""Results of exams, which are studies whose items have right answers. Another study can require a result."""

from __future__ import annotations

from collections import defaultdict

from annotation.models import Item, Rating, Study, Submission
from annotation.task_types.items import ExamItem, ItemData
from annotation.task_types.registry import get_type


def exam_percent(exam: Study, worker_id: int) -> int | None:
    """The worker's result in whole percent, rounded down, over all that they sent there. None if they sent nothing, or
    if the exam has no right answers.

    Excluded submissions count, too: passing an exam does not depend on whether the work is analysed.
    """
    submission = Submission.objects.filter(study=exam, participant__worker=worker_id).first()
    if submission is None:
        return None
    answers: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    ratings = Rating.objects.filter(study=exam, participant__worker=worker_id, item__isnull=False)
    for item, topic, value, text in ratings.values_list("item_id", "question", "value", "text"):
        answers[item or 0][topic].append(text if value is None else f"{value:g}")
    exam_items = [
        ExamItem(ItemData(item.external_id, item.payload, "exam"), answers[item.pk])
        for item in Item.objects.filter(study=exam, role=Item.Role.EXAM).order_by("position")
    ]
    percent = get_type(exam.task_type).exam_percent(exam_items, exam.config)
    return None if percent is None else int(percent + 1e-9)


def has_right_answers(exam: Study) -> bool:
    """Whether anybody can have a result in the exam."""
    exam_items = [
        ExamItem(ItemData(item.external_id, item.payload, "exam"))
        for item in Item.objects.filter(study=exam, role=Item.Role.EXAM).order_by("position")
    ]
    return get_type(exam.task_type).exam_percent(exam_items, exam.config) is not None


def has_passed(study: Study, worker_id: int) -> bool:
    """Whether the worker has the result that the study requires. True for a study that requires no exam."""
    if not study.exam_study:
        return True
    exam = Study.objects.filter(slug=study.exam_study).first()
    percent = exam_percent(exam, worker_id) if exam is not None else None
    return percent is not None and percent >= study.exam_percent
