"""User descriptions of features that override what is inferred."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.core.text_files import distinct_members, read_text
from encoders.query.features import ACTIONS, KINDS
from encoders.query.names import feature_name

_KEYS = {
    *("kind", "values", "bounds", "columns", "labels", "action", "allow_off_levels"),
    *("missing", "missing_cost", "missing_codes", "step", "digits", "base", "tolerance"),
    "unit",
}


def load_overrides(overrides: Mapping[str, Any] | str | Path | None) -> Mapping[str, Any]:
    """Return overrides as a mapping, read from a JSON file if they are a path."""
    if overrides is None:
        return {}
    if isinstance(overrides, Mapping):
        return overrides
    if not isinstance(overrides, str | Path):
        raise InputError(
            "features must be a mapping, the path of a JSON file or a FeatureSpace, "
            f"got {overrides!r}."
        )
    path = Path(overrides)
    text = read_text(path, "the feature file")
    try:
        loaded = json.loads(text, object_pairs_hook=distinct_members)
    except ValueError as error:
        raise InputError(f"the feature file {path} is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise InputError(
            f"the feature file {path} is nested too deeply. Write one object, feature: kind."
        ) from error
    if not isinstance(loaded, dict):
        raise InputError(f"the feature file {path} must contain one JSON object, feature: kind.")
    return loaded


def as_entries(overrides: Mapping[str, Any] | str | Path | None) -> dict[str, dict[str, Any]]:
    """Return the checked overrides by name of the feature."""
    entries: dict[str, dict[str, Any]] = {}
    for key, entry in load_overrides(overrides).items():
        name = feature_name(key)
        if name in entries:
            raise InputError(
                f"features= describes {name!r} twice, once as text. Remove one of the entries."
            )
        entries[name] = as_entry(name, entry)
    return entries


def as_entry(name: str, entry: Any) -> dict[str, Any]:
    """Return one checked override as a dictionary; a bare kind becomes a dictionary."""
    entry = {"kind": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, Mapping):
        raise InputError(f"feature {name}: expected a kind or a mapping, got {entry!r}.")
    unknown = set(entry) - _KEYS
    if unknown:
        key = sorted(unknown)[0]
        raise InputError(
            f"feature {name}: unknown key {key!r}.{close_names(key, _KEYS)} "
            f"The keys are {', '.join(sorted(_KEYS))}."
        )
    if entry.get("kind", "numeric") not in KINDS:
        raise InputError(f"feature {name}: unknown kind {_choices(entry['kind'], KINDS)}")
    for key in ("labels", "values", "columns", "bounds"):
        value = entry.get(key)
        if value is not None and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise InputError(f"feature {name}: {key} must be a list, got {value!r}.")
    labels = [str(label) for label in entry.get("labels") or ()]
    if len(set(labels)) < len(labels):
        repeated = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"feature {name}: label {repeated!r} is repeated. Give each label once.")
    if not isinstance(entry.get("allow_off_levels", False), bool):
        raise InputError(
            f"feature {name}: allow_off_levels must be True or False, got "
            f"{entry['allow_off_levels']!r}."
        )
    if not isinstance(entry.get("unit", ""), str):
        raise InputError(f"feature {name}: unit must be text, got {entry['unit']!r}.")
    if entry.get("action", "free") not in ACTIONS:
        raise InputError(f"feature {name}: unknown action {_choices(entry['action'], ACTIONS)}")
    if "columns" in entry:
        columns = [feature_name(column) for column in entry["columns"] or ()]
        return dict(entry) | {"columns": columns}
    return dict(entry)


def _choices(value: object, known: Sequence[str]) -> str:
    """Return an unknown value, the closest known one and all known ones, for a message."""
    return f"{value!r}.{close_names(value, known)} Use {', '.join(known[:-1])} or {known[-1]}."
