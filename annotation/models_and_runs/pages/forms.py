"""The forms of models and runs."""

from __future__ import annotations

from django import forms

from generation.models import LanguageModel
from generation.registry.registration import DTYPES


class RunForm(forms.Form):
    """A run file and its contexts. Their contents are checked elsewhere, all at once."""

    run_file = forms.CharField(
        label="Run file",
        max_length=1024 * 1024,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "source"}),
        help_text="YAML, as in the example. The guide to run files lists every key.",
    )
    contexts = forms.FileField(
        label="Contexts",
        required=False,
        help_text="CSV, TSV or JSON lines with a column <code>id</code> and one column for each field of the template. "
        "Leave it empty if the run file lists its contexts.",
    )


class ModelForm(forms.Form):
    """The registration of a language model. The registry checks the values."""

    name = forms.CharField(max_length=60, help_text="The name to use in run files, such as <code>gpt2-large</code>.")
    backend = forms.ChoiceField(choices=LanguageModel.Backend.choices)
    source = forms.CharField(
        max_length=500,
        help_text="A hub name, or a folder or GGUF file on the machines that run models. For a server, the model’s "
        "name there. <code>embedded</code> is the model that comes with HITServer.",
    )
    revision = forms.CharField(max_length=100, required=False, help_text="A branch, tag or commit on the hub.")
    dtype = forms.ChoiceField(choices=[(name, name) for name in DTYPES], initial="auto", label="Number format")
    device = forms.CharField(max_length=20, initial="auto", help_text="auto, cpu, cuda or cuda:N.")
    base_url = forms.CharField(
        max_length=2000,
        required=False,
        label="Server address",
        help_text="Such as <code>http://127.0.0.1:8000/v1</code>; several servers with commas between them. "
        "Other hosts must be listed in <code>HITSERVER_MODEL_SERVERS</code>.",
    )
    key_variable = forms.CharField(
        max_length=100,
        required=False,
        label="Variable with the key",
        help_text="The environment variable that holds the server’s key, such as "
        "<code>HITSERVER_MODEL_KEY_LAB</code>. The key is never stored.",
    )
    chat = forms.BooleanField(required=False, label="Send prompts as chat messages")
