"""What participants answer around their tasks: once before the first, once after the last, and to check whether they
have understood what to do."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Study
from annotation.models.work import Participant


class QuestionnaireReply(models.Model):
    """One participant's answers to one questionnaire. Written once: a trigger refuses UPDATE and DELETE.

    ``attempt`` counts the tries of a comprehension check; everything else is answered once. ``passed`` says whether a
    comprehension check was passed, or whether the answers let the participant in (null: nothing depends on them).
    """

    class Questionnaire(models.TextChoices):
        BEFORE = "before", "Before the first task"
        COMPREHENSION = "comprehension", "Comprehension check"
        AFTER = "after", "After the last task"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, db_index=False, related_name="questionnaire_replies")
    participant = models.ForeignKey(
        Participant, on_delete=models.PROTECT, db_index=False, related_name="questionnaire_replies"
    )
    questionnaire = models.CharField(max_length=20, choices=Questionnaire)
    attempt = models.PositiveSmallIntegerField(default=1)
    answers = models.JSONField(help_text="By the name of the question. A question that was left out is null.")
    timing = models.JSONField(default=dict, help_text="Per question: when answered, how long, paste events.")
    passed = models.BooleanField(null=True)
    received_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "questionnaire", "attempt"], name="questionnairereply_attempt_once"
            ),
            models.CheckConstraint(
                condition=Q(attempt=1) | Q(questionnaire="comprehension", attempt__gte=1),
                name="questionnairereply_asked_once",
            ),
            models.CheckConstraint(
                condition=Q(questionnaire__in=["before", "comprehension", "after"]),
                name="questionnairereply_questionnaire_known",
            ),
        ]
        indexes = [models.Index(fields=["study", "id"], name="questionnairereply_export")]

    def __str__(self) -> str:
        return f"{self.questionnaire} of participant {self.participant_id}"


class QuestionnaireDraft(models.Model):
    """What is typed in a questionnaire, or on a page of the training, and not sent."""

    #: The name of a draft of the training.
    TRAINING = "training"

    participant = models.ForeignKey(
        Participant, on_delete=models.CASCADE, db_index=False, related_name="questionnaire_drafts"
    )
    questionnaire = models.CharField(
        max_length=20, choices=[*QuestionnaireReply.Questionnaire.choices, (TRAINING, "Training")]
    )
    answers = models.JSONField()
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participant", "questionnaire"], name="questionnairedraft_once")]

    def __str__(self) -> str:
        return f"draft of {self.questionnaire} of participant {self.participant_id}"
