"""How to read an uploaded file, as a form: which column is which, and the options that the file needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotation.table_files import ENCODINGS, SEPARATOR_NAMES, Offer, ReadingOptions
from annotation.table_files.mapping import FAMILY, guessed_mapping
from annotation.task_types.items import Column

#: Columns of a file that a form lists.
MOST_COLUMNS = 200
_NUMBERED = re.compile(r"(.*?)(\d+)")
_LABELS = {"encoding": "Encoding", "separator": "Cells are separated by", "sheet": "Sheet", "split": "Split"}


class OptionsForm(forms.Form):
    """The options of the file besides its columns. A field is there if the file offers a choice, or if it was used."""

    encoding = forms.ChoiceField(
        label=_LABELS["encoding"], required=False, choices=[("", "UTF-8"), *list(ENCODINGS.items())[1:]]
    )
    separator = forms.ChoiceField(
        label=_LABELS["separator"],
        required=False,
        choices=[("", "As the header shows"), *((name, name.capitalize() + "s") for name in SEPARATOR_NAMES)],
    )
    sheet = forms.CharField(label=_LABELS["sheet"], required=False, max_length=100, strip=False)
    split = forms.CharField(label=_LABELS["split"], required=False, max_length=100, strip=False)

    def options(self) -> ReadingOptions:
        values = self.cleaned_data if self.is_valid() else {}
        return ReadingOptions(**{name: values.get(name, "") for name in self.base_fields})

    def show_only(self, offer: Offer | None, used: ReadingOptions) -> None:
        """Removes the fields that the file does not need, and gives those with names of the file their choices."""
        for name in list(self.fields):
            if offer is not None and offer.option == name and name in ("sheet", "split"):
                usual = "The first" if name == "sheet" else "Choose"
                self.fields[name] = forms.ChoiceField(
                    label=_LABELS[name], required=False, choices=[("", usual), *offer.choices]
                )
            elif (offer is None or offer.option != name) and not getattr(used, name):
                del self.fields[name]
            elif name in ("sheet", "split"):
                self.fields[name].widget.attrs["readonly"] = True


class ColumnForm(forms.Form):
    """For every column of the task type, the column of the file that has it. Numbered families have several.

    ``earlier``: the names that columns of the file before got.
    """

    def __init__(
        self,
        *args: Any,
        file_columns: Sequence[str],
        columns: Sequence[Column],
        earlier: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.file_columns = list(file_columns[:MOST_COLUMNS])
        self.columns = list(columns)
        guesses = {target: name for name, target in guessed_mapping(self.file_columns, columns).items()}
        guesses |= {target: name for name, target in earlier.items() if name in self.file_columns}
        choices = [(str(index), name[:80]) for index, name in enumerate(self.file_columns)]
        index_of = {name: str(index) for index, name in enumerate(self.file_columns)}
        for number, column in enumerate(self.columns):
            if family := FAMILY.sub("", column.name) if FAMILY.search(column.name) else "":
                self.fields[f"column-{number}"] = forms.MultipleChoiceField(
                    label=column.name,
                    required=column.required,
                    choices=choices,
                    widget=forms.CheckboxSelectMultiple,
                    error_messages={"required": f"Choose the columns of {column.name}."},
                    initial=[index_of[name] for name in family_guess(family, self.file_columns)],
                )
                continue
            guess = guesses.get(column.name, column.name)
            self.fields[f"column-{number}"] = forms.ChoiceField(
                label=column.name,
                required=column.required,
                choices=[("", "Choose a column" if column.required else "None"), *choices],
                initial=index_of.get(guess, ""),
                error_messages={"required": f"Choose the column with {column.name}."},
            )

    def rows(self) -> list[tuple[Column, forms.BoundField]]:
        """The columns of the type with their fields."""
        return [(column, self[f"column-{number}"]) for number, column in enumerate(self.columns)]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        used: dict[str, list[str]] = defaultdict(list)
        for number, column in enumerate(self.columns):
            value = cleaned.get(f"column-{number}") or []
            for index in [value] if isinstance(value, str) else value:
                used[index].append(column.name)
        for index, targets in used.items():
            if len(targets) > 1:
                name = self.file_columns[int(index)]
                listed = " and ".join(targets)
                raise forms.ValidationError(f"“{name[:60]}” is chosen for {listed}. Choose each column once.")
        return cleaned

    def mapping(self) -> dict[str, str]:
        """File column → our column as chosen, without those that have the right name already."""
        return self._mapping(self.cleaned_data)

    def guessed(self) -> dict[str, str]:
        """The same as the form shows it at first."""
        return self._mapping({name: field.initial for name, field in self.fields.items()})

    def _mapping(self, values: Mapping[str, Any]) -> dict[str, str]:
        """A column of the file whose name another one gets is stored with the items under a name with a number."""
        mapping: dict[str, str] = {}
        for number, column in enumerate(self.columns):
            value = values.get(f"column-{number}") or []
            stem = FAMILY.sub("", column.name)
            names = [self.file_columns[int(index)] for index in ([value] if isinstance(value, str) else value)]
            if isinstance(value, str):
                mapping[names[0]] = column.name
            elif not set(names) <= set(family_columns(stem, self.file_columns)):
                mapping |= {name: f"{stem}_{index}" for index, name in enumerate(names)}
        used_names = {*mapping.values(), *self.file_columns}
        for name in self.file_columns:
            if name in mapping.values() and name not in mapping:
                mapping[name] = next(free for n in range(2, 10_000) if (free := f"{name}_{n}") not in used_names)
                used_names.add(mapping[name])
        return {name: target for name, target in mapping.items() if name != target}


def family_columns(stem: str, file_columns: Sequence[str]) -> list[str]:
    """The columns of the file that are already called as the family is: ``resp_0``, ``resp_1`` …"""
    return [name for name in file_columns if re.fullmatch(rf"{re.escape(stem)}_\d+", name)]


def family_guess(stem: str, file_columns: Sequence[str]) -> list[str]:
    """The likely columns of a numbered family: those with its name, or the largest group whose names differ by a
    number."""
    if named := family_columns(stem, file_columns):
        return named
    groups: Mapping[str, list[str]] = defaultdict(list)
    for name in file_columns:
        if match := _NUMBERED.fullmatch(name):
            groups[match[1]].append(name)
    largest: list[str] = max(groups.values(), key=len, default=[])
    return largest if len(largest) > 1 else []
