"""Language models, runs and their samples, live suggestions, and the processes that make them.

```
LanguageModel ─┬─> GenerationRun ─> RunContext, Chunk ─> Sample
               └─> Suggester ─> Suggestion <─ PoolText
```
A ``Chunk`` is the unit of work that a worker claims, and loses when it is killed. Each place of a run has one
``Sample``.
"""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone


class LanguageModel(models.Model):
    """A model under the name that runs and suggesters use for it, with the results of its last check."""

    class Backend(models.TextChoices):
        TRANSFORMERS = "transformers", "transformers (a hub name, a folder or a GGUF file)"
        LLAMA_CPP = "llama_cpp", "llama.cpp (a GGUF file)"
        VLLM = "vllm", "vLLM (a hub name or a folder, on GPUs)"
        OPENAI = "openai", "a server that speaks the OpenAI API"

    class Check(models.TextChoices):
        WAITING = "waiting", "Not checked yet"
        PASSED = "passed", "Works"
        FAILED = "failed", "Does not work"

    name = models.SlugField(max_length=60, unique=True)
    backend = models.CharField(max_length=20, choices=Backend)
    source = models.CharField(max_length=500)
    revision = models.CharField(max_length=100, blank=True)
    dtype = models.CharField(max_length=20, default="auto")
    device = models.CharField(max_length=20, default="auto")
    base_url = models.CharField(
        max_length=2000, blank=True, help_text="One address, or several with commas between them, each with *WEIGHT."
    )
    key_variable = models.CharField(max_length=100, blank=True)
    chat = models.BooleanField(default=False)
    options = models.JSONField(default=dict, blank=True)
    retired = models.BooleanField(default=False)
    price_read = models.DecimalField(
        max_digits=12, decimal_places=4, null=True, blank=True, help_text="US dollars for a million tokens of prompts."
    )
    price_written = models.DecimalField(
        max_digits=12, decimal_places=4, null=True, blank=True, help_text="US dollars for a million tokens of texts."
    )

    check_state = models.CharField(max_length=10, choices=Check, default=Check.WAITING)
    check_message = models.TextField(blank=True)
    parameters = models.BigIntegerField(null=True, blank=True)
    memory_bytes = models.BigIntegerField(null=True, blank=True)
    context_length = models.IntegerField(null=True, blank=True)
    tokens_per_second = models.FloatField(null=True, blank=True, help_text="One stream, at the last check.")
    gives_log_p = models.BooleanField(null=True, blank=True)
    gives_log_q = models.BooleanField(null=True, blank=True)
    load_seconds = models.FloatField(null=True, blank=True)
    found = models.JSONField(
        default=dict, blank=True, help_text="What the last check found besides: origin, and what a server accepts."
    )

    away_since = models.DateTimeField(null=True, blank=True, help_text="Since when its server cannot answer.")
    away_until = models.DateTimeField(null=True, blank=True, help_text="No run asks the server before.")
    away_message = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.name


class GenerationRun(models.Model):
    """Samples for contexts from models and decoders: every combination, or one model and one decoder per context.

    State machine: waiting → running → done | failed; waiting or running → cancelled; failed or cancelled → running
    (resume).
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    name = models.SlugField(max_length=80, unique=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    spec = models.JSONField(help_text="The run file as it was checked, sweeps expanded.")
    spec_hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical spec and its contexts.")
    seed = models.BigIntegerField()
    n_wanted = models.PositiveIntegerField(help_text="Samples there will be.")
    message = models.TextField(blank=True)
    budget = models.JSONField(default=dict, blank=True, help_text="The most that it may cost: usd, tokens, or both.")
    origins = models.JSONField(
        default=dict,
        blank=True,
        help_text="By model: commit or checksum, library versions, dtype, device at first use.",
    )
    created_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class RunContext(models.Model):
    """One context: the researcher's id, its fields, and the prompt that the run's template makes from them."""

    run = models.ForeignKey(GenerationRun, on_delete=models.CASCADE, related_name="contexts", db_index=False)
    number = models.PositiveIntegerField()
    external_id = models.CharField(max_length=200)
    fields = models.JSONField(default=dict)
    prompt = models.TextField()
    keep = models.PositiveIntegerField(default=0, help_text="Characters of priming text that no cut may touch.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="run_context_once"),
            models.UniqueConstraint(fields=["run", "external_id"], name="run_context_id_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.external_id}"


class Chunk(models.Model):
    """Samples that one worker makes and stores together. A lease names the worker until it runs out.

    ``places`` lists ``[context number, decoder name, first sample, number of samples]``.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    run = models.ForeignKey(GenerationRun, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    places = models.JSONField()
    n_samples = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How many times it failed.")
    losses = models.PositiveSmallIntegerField(default=0, help_text="How many times its worker vanished with it.")
    leased_by = models.CharField(max_length=100, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    n_tokens = models.PositiveIntegerField(null=True, blank=True)
    tokens_read = models.PositiveBigIntegerField(null=True, blank=True, help_text="Of prompts, as the model counts.")
    tokens_written = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Of texts before any cut, with those that were asked for again."
    )
    made_with = models.JSONField(default=dict, help_text="Worker, weights, versions, device and dtype.")
    preview = models.JSONField(default=dict, blank=True, help_text="Texts drawn but not stored yet.")
    ended_at = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="chunk_once")]
        indexes = [models.Index(fields=["run", "state", "leased_until"], name="chunk_to_take")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.number}"


class Sample(models.Model):
    """One generated text at its place in the run. It never changes. Log-probabilities are natural, summed over
    tokens."""

    run = models.ForeignKey(GenerationRun, on_delete=models.CASCADE, related_name="samples", db_index=False)
    context = models.ForeignKey(RunContext, on_delete=models.CASCADE, related_name="samples")
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="samples")
    decoder = models.CharField(max_length=60)
    number = models.PositiveIntegerField(help_text="0, 1, … among the samples of one context, model and decoder.")
    seed = models.BigIntegerField()
    text = models.TextField()
    token_ids = models.JSONField(default=list)
    n_tokens = models.PositiveIntegerField()
    prompt_tokens = models.PositiveIntegerField(default=0)
    cut_tokens = models.PositiveIntegerField(default=0)
    log_p = models.FloatField(null=True)
    log_q = models.FloatField(null=True)
    score = models.FloatField(null=True, help_text="What a beam search or a reranker ordered texts by.")
    finish_reason = models.CharField(max_length=12)
    seconds = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "context", "model", "decoder", "number"], name="sample_once"),
            models.CheckConstraint(condition=Q(log_p__isnull=True) | Q(log_p__lte=0.001), name="sample_log_p"),
            models.CheckConstraint(condition=Q(log_q__isnull=True) | Q(log_q__lte=0.001), name="sample_log_q"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.context_id}/{self.decoder}/{self.number}"


class Suggester(models.Model):
    """A model with its decoder and rules. A writing study refers to it by name."""

    name = models.SlugField(max_length=60, unique=True)
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="suggesters")
    decoder = models.CharField(max_length=60)
    limits = models.JSONField(default=dict)
    template = models.TextField(default="{story}")
    priming = models.TextField(blank=True)
    least_characters = models.PositiveSmallIntegerField(default=20)
    most_characters = models.PositiveSmallIntegerField(default=260)
    word_list = models.TextField(blank=True, help_text="Words that no suggestion may contain, one per line.")
    wait_seconds = models.FloatField(default=10.0, help_text="How long a writer waits before a prepared text is used.")
    tries = models.PositiveSmallIntegerField(default=3)
    active = models.BooleanField(default=True)
    origin = models.JSONField(
        default=dict,
        blank=True,
        help_text="Commit or checksum of its model, library versions, dtype, device at first use.",
    )
    other_origin = models.JSONField(
        default=dict, blank=True, help_text="The same of other weights that a process found later; empty if none did."
    )
    created_by = models.CharField(max_length=150, blank=True)

    def __str__(self) -> str:
        return self.name


class SuggesterUse(models.Model):
    """A user of a suggester, such as a live study. Until ``ended_at``, the suggester stays as it is in ``snapshot``."""

    suggester = models.ForeignKey(Suggester, on_delete=models.PROTECT, related_name="uses")
    user = models.CharField(max_length=80, help_text="Who uses it: the short name of a study.")
    snapshot = models.JSONField(help_text="Model, decoder, limits, template and rules.")
    began_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["suggester", "user"], name="suggester_use_once")]

    def __str__(self) -> str:
        return f"{self.user} uses {self.suggester_id}"


class PoolText(models.Model):
    """A precomputed suggestion for one round, shown when the live one is late."""

    suggester = models.ForeignKey(Suggester, on_delete=models.CASCADE, related_name="pool")
    round = models.PositiveSmallIntegerField(help_text="1 for the first suggestion of a story; 0 fits every round.")
    text = models.TextField()
    sample = models.ForeignKey(Sample, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["suggester", "round", "text"], name="pool_text_once")]

    def __str__(self) -> str:
        return self.text[:60]


class Suggestion(models.Model):
    """One suggestion for one writer: the request, the answer, and everything needed to generate it again.

    State machine: waiting → (leased) → done | failed; waiting → done, from the pool, when time runs out; waiting →
    cancelled. The caller chooses the ``key``: asking again with the same key returns the same suggestion. A text that
    arrives after the pool's is saved as ``late_text``.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    key = models.CharField(max_length=120)
    suggester = models.ForeignKey(Suggester, on_delete=models.PROTECT, related_name="suggestions")
    round = models.PositiveSmallIntegerField(default=1)
    story = models.CharField(max_length=120, help_text="One writer's text; no pool text comes twice in it.")
    prompt = models.TextField()
    keep = models.PositiveIntegerField(default=0, help_text="Characters of priming text that no cut may touch.")
    conversation = models.JSONField(
        default=dict, blank=True, help_text="The messages that it answers, and its most tokens; empty for a suggestion."
    )
    growing = models.TextField(blank=True, help_text="An answer as far as it is written.")
    seed = models.BigIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    text = models.TextField(blank=True)
    raw_text = models.TextField(blank=True)
    late_text = models.TextField(blank=True)
    from_pool = models.BooleanField(default=False)
    pool_text = models.ForeignKey(PoolText, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    parameters = models.JSONField(default=dict, help_text="Model, revision, dtype, device, decoder, limits as used.")
    log_p = models.FloatField(null=True)
    log_q = models.FloatField(null=True)
    n_tokens = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    message = models.TextField(blank=True)
    leased_by = models.CharField(max_length=100, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["suggester", "key"], name="suggestion_once"),
            models.CheckConstraint(
                condition=~Q(state="done") | Q(answered_at__gte=F("asked_at")), name="suggestion_answered"
            ),
            models.CheckConstraint(condition=~Q(state="done") | ~Q(text=""), name="suggestion_has_text"),
            models.UniqueConstraint(fields=["story", "pool_text"], name="suggestion_pool_text_once"),
        ]
        indexes = [
            models.Index(fields=["asked_at"], name="suggestion_to_take", condition=Q(state="waiting")),
        ]

    def __str__(self) -> str:
        return f"{self.suggester_id}/{self.key}"


class ModelWorker(models.Model):
    """A process that holds models: which ones, and when it was last seen."""

    name = models.CharField(max_length=100, unique=True)
    role = models.CharField(max_length=12, help_text="runs or suggestions")
    models_loaded = models.JSONField(default=list)
    state = models.CharField(max_length=12, default="starting")
    message = models.TextField(blank=True)
    seen_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name
