"""Studies for judges, and a server with the chat API as OpenAI's reference describes it (POST /chat/completions)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from annotation.judging import managing
from annotation.judging.managing import JudgeSettings
from annotation.judging.working import work_on
from annotation.models import Judge, Study
from annotation.task_types.base import TaskType
from annotation.task_types.items import ItemData, Row
from annotation.task_types.registry import get_type
from generation.models import LanguageModel
from tests.factories import default_config, make_study
from tests.generation.support.openai_server import Server

#: What a model says to messages, as a text; or a status with a body.
Saying = Callable[[dict[str, Any]], str | tuple[int, str] | None]


def chat(saying: Saying, *, finish: str = "stop") -> Callable[[Server, dict[str, Any]], tuple[int, str]]:
    """Answers in the form of the published specification: object ``chat.completion``."""

    def answering(server: Server, body: dict[str, Any]) -> tuple[int, str]:
        said = saying(body)
        if isinstance(said, tuple):
            return said
        message = {"role": "assistant", "content": said, "refusal": None}
        words = " ".join(message["content"] for message in body["messages"])
        usage = {"prompt_tokens": len(words.split()), "completion_tokens": 7, "total_tokens": 0}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return 200, json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        )

    return answering


def served_model(server: Server, **values: Any) -> LanguageModel:
    options = {"retries": 1, "timeout": 5, "concurrency": 1}
    defaults = {"name": "served", "backend": "openai", "source": "m", "base_url": server.url, "chat": True}
    return LanguageModel.objects.create(**{**defaults, "options": options, **values})


def likert_study(*texts: str, **values: Any) -> Study:
    """One item for each text, two statements on five points."""
    statements = [{"topic": "clear", "question": "It is clear."}, {"topic": "liked", "question": "I like it."}]
    config = {"statements": statements, "points": 5, "order": "fixed"}
    rows = [{"sample_id": f"s{number}", "text": text} for number, text in enumerate(texts)]
    return study_of("likert", rows, config, **values)


def study_of(task_type: str, rows: list[dict[str, str]], config: dict[str, Any], **values: Any) -> Study:
    """A live study whose items are read from these rows."""
    payloads = items_of(get_type(task_type), rows, config)
    return make_study(task_type=task_type, config=config, payloads=payloads, **values)


def items_of(task: TaskType, rows: list[dict[str, str]], config: dict[str, Any]) -> list[ItemData]:
    items, problems = task.read_items(
        [Row(number, cells) for number, cells in enumerate(rows, start=1)], default_config(task) | config
    )
    assert not problems, problems
    return items


def judged(study: Study, **settings: Any) -> Judge:
    """A judge that has worked until it ended."""
    judge = managing.create_judge(study=study, settings=JudgeSettings(**{"model": "served", **settings}), actor="ann")
    work_on(judge_id=judge.pk, worker="test")
    judge.refresh_from_db()
    return judge
