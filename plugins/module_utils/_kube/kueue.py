# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which DeviceClasses Kueue knows, by its configuration in a ConfigMap."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, strings, texts

_API = "config.kueue.x-k8s.io/"
_MAPPINGS = "deviceClassMappings"
# Characters of a value that are looked at.
LONGEST = 1 << 20
# Characters of a configuration: anybody can write what looks like one, and to read it takes a second for each 50,000.
_LARGEST = 1 << 16


class KueueConfiguration(NamedTuple):
    """The DeviceClasses that it maps (``deviceClassMappings``); if it cannot be read, none and ``problem`` says why."""

    classes: Tuple[str, ...]
    problem: str = ""


def configuration(config_map: Any) -> Optional[KueueConfiguration]:
    """Kueue's configuration, ``None`` if the ConfigMap has something else."""
    for content in strings(at(config_map, "data")).values():
        if _API in content[:LONGEST]:
            return _read(content)
    return None


def _read(content: str) -> KueueConfiguration:
    if _MAPPINGS not in content:
        return KueueConfiguration(())
    if len(content) > _LARGEST:
        return KueueConfiguration((), f"has more than {_LARGEST} characters")
    try:
        documents = yaml_values.read(content)
    except yaml_values.TextError as error:
        return KueueConfiguration((), str(error))
    mappings = [entry for found in documents for entry in entries(at(found, "resources", _MAPPINGS))]
    return KueueConfiguration(tuple(name for entry in mappings for name in texts(entry.get("deviceClassNames"))))
