"""Descriptions of features that users give, by name."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.query.features import ACTIONS, KINDS
from encoders.query.names import feature_name
from encoders.text_files import distinct_members, read_text

_KEYS = {
    *("kind", "values", "levels", "bounds", "columns", "labels", "action", "allow_off_levels"),
    *("missing", "missing_cost", "missing_codes", "step", "digits", "base", "tolerance"),
}


def load_overrides(overrides: Mapping[str, Any] | str | Path | None) -> Mapping[str, Any]:
    """The mapping itself, or the one in a JSON file."""
    if overrides is None:
        return {}
    if isinstance(overrides, Mapping):
        return overrides
    if not isinstance(overrides, str | Path):
        raise InputError(
            "features must be a mapping, the path of a JSON file, or a FeatureSpace; "
            f"got {overrides!r}."
        )
    path = Path(overrides)
    text = read_text(path, "the feature file")
    try:
        loaded = json.loads(text, object_pairs_hook=distinct_members)
    except ValueError as error:
        raise InputError(f"the feature file {path} is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise InputError(f"the feature file {path} is nested too deeply to be one.") from error
    if not isinstance(loaded, dict):
        raise InputError(f"the feature file {path} must hold one JSON object, feature: kind.")
    return loaded


def as_entries(overrides: Mapping[str, Any] | str | Path | None) -> dict[str, dict[str, Any]]:
    """All overrides by name of a feature, checked."""
    entries: dict[str, dict[str, Any]] = {}
    for given, entry in load_overrides(overrides).items():
        name = feature_name(given)
        if name in entries:
            raise InputError(f"features describe {name!r} twice, once as text; leave one out.")
        entries[name] = as_entry(name, entry)
    return entries


def as_entry(name: str, entry: Any) -> dict[str, Any]:
    """One override, checked; a bare kind becomes a mapping."""
    entry = {"kind": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, Mapping):
        raise InputError(f"feature {name}: expected a kind or a mapping, got {entry!r}.")
    unknown = set(entry) - _KEYS
    if unknown:
        raise InputError(
            f"feature {name}: unknown key {sorted(unknown)[0]!r}; known are {sorted(_KEYS)}."
        )
    if entry.get("kind", "numeric") not in KINDS:
        raise InputError(f"feature {name}: unknown kind {entry['kind']!r}; known are {KINDS}.")
    for key in ("labels", "values", "levels", "columns", "bounds"):
        value = entry.get(key)
        if value is not None and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise InputError(f"feature {name}: {key} must be a list, got {value!r}.")
    if entry.get("action", "free") not in ACTIONS:
        raise InputError(f"feature {name}: unknown action {entry['action']!r}; known: {ACTIONS}.")
    return _with_values(name, dict(entry))


def _with_values(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an override with columns as text; its values may have the name they had in 0.1."""
    if "columns" in entry:
        entry["columns"] = [feature_name(column) for column in entry["columns"] or ()]
    if "levels" in entry:
        if "values" in entry:
            raise InputError(f"feature {name}: give its values once, not as levels, too.")
        entry["values"] = entry.pop("levels")
    return entry
