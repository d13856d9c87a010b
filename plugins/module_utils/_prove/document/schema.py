# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""JSON schemas (draft 2020-12) of documents, from the dataclasses that they are made of.

``docs/*.schema.json`` are written by ``tests/schemas.py``; a test compares them.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import fields, is_dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, Union, get_type_hints

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number"}


def about(description: str = "", **rules: Any) -> Dict[str, Any]:
    """Metadata of a dataclass's field: ``rules`` are keywords of JSON Schema.

    ``entries`` has those of a list's or map's entries. With ``type``, the field's own type is not followed.
    """
    return {**({"description": description} if description else {}), **rules}


def schema(kind: Type[Any], title: str, version: int, names: Optional[Mapping[str, str]] = None) -> Dict[str, Any]:
    """The schema of a document of this dataclass, in which ``version`` comes first.

    ``names`` are those of fields that have another name in JSON.
    """
    parts: Dict[str, Any] = {}
    whole = _object(kind, parts, names or {})
    whole["required"].insert(0, "version")
    whole["properties"] = {"version": {"const": version}, **whole["properties"]}
    return {"$schema": _DRAFT, "title": title, **whole, "$defs": dict(sorted(parts.items()))}


def _object(kind: Type[Any], parts: Dict[str, Any], names: Mapping[str, str]) -> Dict[str, Any]:
    hints = get_type_hints(kind)
    properties = {}
    for item in fields(kind):
        rules = dict(item.metadata)
        entries = rules.pop("entries", {})
        found = {} if "type" in rules else _value(hints[item.name], entries, parts, names)
        properties[names.get(item.name, item.name)] = {**found, **rules}
    return {
        "description": " ".join((inspect.getdoc(kind) or "").split()),
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _value(hint: Any, entries: Mapping[str, Any], parts: Dict[str, Any], names: Mapping[str, str]) -> Dict[str, Any]:
    """What a value of this type looks like; classes that it has are put into ``parts``."""
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and is_dataclass(hint):
        name = hint.__name__
        if name not in parts:
            parts[name] = _object(hint, parts, names)
        return {"$ref": f"#/$defs/{name}"}
    outer: Any = hint.__origin__
    inner: Tuple[Any, ...] = hint.__args__
    if outer is Union:
        found = _value(inner[0], entries, parts, names)
        return {**found, "type": [found["type"], "null"]} if "type" in found else {"oneOf": [{"type": "null"}, found]}
    if outer is list:
        return {"type": "array", "items": {**_value(inner[0], {}, parts, names), **entries}}
    if inner[1] is Any:
        return {"type": "object"}
    return {"type": "object", "additionalProperties": {**_value(inner[1], {}, parts, names), **entries}}


def text(found: Mapping[str, Any], indent: str = "") -> str:
    """The schema as JSON with a line for each of its properties."""
    lines: List[str] = []
    for key, value in found.items():
        deep = isinstance(value, Mapping) and (key in ("properties", "$defs") or "properties" in value)
        shown = text(value, indent + "  ") if deep else json.dumps(value)
        lines.append(f"{indent}  {json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
