"""The console's forms. They show next to the field what the services would refuse anyway."""

from __future__ import annotations

from django import forms

from annotation.table_files import SUFFIXES

#: Kinds of outputs in words, for types that can judge more than one.


class UploadForm(forms.Form):
    """A file of items. Its rows are checked elsewhere."""

    file = forms.FileField(
        label="File",
        help_text="CSV or TSV with a header row, or JSONL with one object per line. UTF-8, or Unicode text from Excel.",
        error_messages={
            "required": "Choose a .csv, .tsv or .jsonl file.",
            "empty": "This file is empty. Choose the file with the items.",
            "missing": "Choose a .csv, .tsv or .jsonl file.",
        },
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(SUFFIXES)}),
    )
