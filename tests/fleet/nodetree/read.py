# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Reads a description: ``extends``, then unknown keys and wrong types, each refused with what would be right."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from pathlib import Path
from typing import Any

import yaml

from .check import check
from .spec import Description, DescriptionError

NOT_KEYS = {"host", "source"}


def load(path: Path | str) -> Description:
    """The checked description in one YAML file."""
    path = Path(path)
    data = _merged(path, ())
    data.pop("extends", None)
    description = _build(Description, {**data, "host": path.stem, "source": path.name}, path.name, "")
    check(description)
    return typing.cast(Description, description)


def _merged(path: Path, seen: tuple[str, ...]) -> dict[str, Any]:
    if path.stem in seen:
        raise DescriptionError(f"{path.name}: extends: goes round in a circle: {' -> '.join([*seen, path.stem])}")
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.yml"))) or "none"
        wanted = f"{seen[-1]}.yml: extends: {path.stem}" if seen else path.name
        raise DescriptionError(f"{wanted}: no such description in {path.parent}; there are: {known}") from None
    except yaml.YAMLError as error:
        raise DescriptionError(f"{path.name}: not YAML: {error}") from None
    if not isinstance(data, dict):
        raise DescriptionError(f"{path.name}: a description is a mapping of keys, see README.md")
    for key in NOT_KEYS & set(data):
        raise DescriptionError(f"{path.name}: {key}: comes from the file's name, remove the key")
    base = data.get("extends")
    if base is None:
        return data
    if not isinstance(base, str):
        raise DescriptionError(f"{path.name}: extends: must be the name of another description, not {base!r}")
    return _overlay(_merged(path.parent / f"{base}.yml", (*seen, path.stem)), data)


def _overlay(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """Maps merge key by key, ``null`` removes a key, everything else replaces."""
    merged = dict(base)
    for key, value in top.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _overlay(merged[key], value)
        else:
            merged[key] = value
    return merged


def _build(cls: type, data: Any, name: str, where: str) -> Any:
    if not isinstance(data, dict):
        raise DescriptionError(f"{name}: {where or 'top level'}: must be a mapping of keys, not {data!r}")
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    values = {}
    for key, value in data.items():
        at = f"{where}.{key}" if where else str(key)
        if key not in fields:
            known = sorted(set(fields) - NOT_KEYS | ({"extends"} if cls is Description else set()))
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            raise DescriptionError(f"{name}: {at}: unknown key; {hint}Known here: {', '.join(known)}")
        values[key] = _convert(hints[key], value, name, at)
    for key, spec in fields.items():
        no_default = spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
        if no_default and key not in values:
            raise DescriptionError(f"{name}: {where or 'top level'}: key '{key}' is missing")
    return cls(**values)


def _convert(hint: Any, value: Any, name: str, at: str) -> Any:
    origin = typing.get_origin(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast(type, hint), value, name, at)
    if origin is list and isinstance(value, list):
        inner = typing.get_args(hint)[0]
        return [_convert(inner, item, name, f"{at}[{index}]") for index, item in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        inner = typing.get_args(hint)[1]
        return {str(key): _convert(inner, item, name, f"{at}.{key}") for key, item in value.items()}
    allowed = typing.get_args(hint) if origin in (types.UnionType, typing.Union) else (origin or hint,)
    if float in allowed:
        allowed = (*allowed, int)
    # YAML's true is an int to Python, and `port: true` is a mistake.
    if isinstance(value, bool) is not (bool in allowed) or not isinstance(value, allowed):
        wanted = " or ".join(sorted({getattr(t, "__name__", str(t)) for t in allowed}))
        raise DescriptionError(f"{name}: {at}: must be {wanted}, not {value!r}")
    return value
