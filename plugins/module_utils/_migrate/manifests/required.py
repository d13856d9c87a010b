# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The plugins of NRI without which a pod does not start: ours is not on nodes of another strategy than inject.

Source: github.com/containerd/nri, plugins/default-validator and ``GetEffectiveAnnotation`` of pkg/api.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import PodShape
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.strategy import REQUIRED

_PLUGIN = Configuration().name


def is_list(annotation: str) -> bool:
    """Whether an annotation names such plugins: for the pod, or for one of its containers."""
    return annotation in (REQUIRED, f"{REQUIRED}/pod") or annotation.startswith(f"{REQUIRED}/container.")


def _plugins(value: Any) -> Optional[List[str]]:
    """``None`` if the validator of NRI could not read it either: it takes YAML."""
    if value is None:
        return []
    try:
        documents = yaml_values.read(value) if isinstance(value, str) else [value]
    except yaml_values.TextError:
        return None
    found = documents[0] if len(documents) == 1 else documents
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else None


def others(value: Any) -> Optional[List[str]]:
    """The plugins that are not ours, none without the annotation, ``None`` if the list cannot be read."""
    found = _plugins(value)
    return None if found is None else [name for name in found if name != _PLUGIN]


def is_ours_alone(annotation: str, value: Any) -> bool:
    return is_list(annotation) and bool(_plugins(value)) and not others(value)


def take_ours(annotations: Dict[str, Any]) -> None:
    """Leave the other plugins in lists that have them beside ours."""
    for name, value in annotations.items():
        left = others(value) if is_list(str(name)) else None
        if left and left != _plugins(value):
            annotations[name] = json.dumps(left)


def joined(value: Any, more: str) -> Any:
    """The list with those of another one. As it is if it has them, or if it cannot be read."""
    found, new = _plugins(value), _plugins(more) or []
    missing = [name for name in new if found is not None and name not in found]
    return json.dumps([*(found or ()), *missing]) if missing else value


def unread(pod: PodShape) -> Iterator[str]:
    """What is left to people."""
    for name, value in sorted(pod.annotations.items()):
        if is_list(name) and _plugins(value) is None:
            yield f"{name} cannot be read as a list of plugins, and stays as it is"
