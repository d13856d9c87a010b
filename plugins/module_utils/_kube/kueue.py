# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which DeviceClasses Kueue knows, by its configuration in a ConfigMap."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, strings, texts

_API = "config.kueue.x-k8s.io/"
# Characters of a value that are looked at.
LONGEST = 1 << 20


class KueueConfiguration(NamedTuple):
    """The DeviceClasses that it maps (``deviceClassMappings``)."""

    classes: Tuple[str, ...]


def configuration(config_map: Any) -> Optional[KueueConfiguration]:
    """Kueue's configuration, ``None`` if the ConfigMap has something else."""
    for content in strings(at(config_map, "data")).values():
        if _API in content[:LONGEST]:
            return KueueConfiguration(_classes(content))
    return None


def _classes(content: str) -> Tuple[str, ...]:
    import yaml

    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, RecursionError, ValueError):
        return ()
    mappings = entries(at(found, "resources", "deviceClassMappings"))
    return tuple(name for mapping in mappings for name in texts(mapping.get("deviceClassNames")))
