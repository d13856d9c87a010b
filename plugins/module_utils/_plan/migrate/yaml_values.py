# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The values of YAML documents as kubectl reads them: YAML 1.1 without timestamps, no key twice."""

from __future__ import annotations

import json
from typing import Any, List

try:
    import yaml
    from yaml import SafeLoader
except ImportError:
    # Manifests are rewritten where Ansible runs, which needs it as well.
    SafeLoader = object  # type: ignore[misc, assignment]

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class TextError(Exception):
    """The text cannot be read as YAML, or not be changed where it has to be; the text says why."""


class Loader(SafeLoader):
    """Dates are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != _TIMESTAMP]
    for first, known in getattr(SafeLoader, "yaml_implicit_resolvers", {}).items()
}


def read(text: str) -> List[Any]:
    """The values of all documents. Raises TextError."""
    try:
        values = list(yaml.load_all(text, Loader=Loader))
        _twice(text)
        json.dumps(values)
    except yaml.YAMLError as error:
        if "{{" in text:
            raise TextError("is a template, not YAML: render it first, or change its values") from error
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise TextError(f"is not YAML{where}: {getattr(error, 'problem', None) or error}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise TextError(f"has values that no manifest has: {error}") from error
    return values


def _twice(text: str) -> None:
    waiting: List[Any] = [node for node in yaml.compose_all(text, Loader=Loader) if node is not None]
    seen = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _value in node.value if isinstance(key, yaml.ScalarNode)]
            for key in keys:
                if keys.count(key) > 1:
                    raise TextError(f"has the key {key} twice (line {node.start_mark.line + 1})")
            waiting += [value for _key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
