# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon's file: a JSON object whose ``devices`` has the values of each NIC, by PCI address.

The same rules check what prepare writes and what the daemon reads, since the API server refuses the ResourceSlice of a
whole node for one wrong attribute, and DRANET goes on with the old one.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import json_object

# By PCI address, and there by the key of the attribute.
Devices = Dict[str, Dict[str, Any]]
# As DRANET takes it: by the attribute's name, its kind and value.
Answer = Dict[str, Dict[str, Any]]

RAIL, LEAF, RATE, LINK_LAYER = "rail", "leaf", "rate_gbps", "link_layer"
LAYERS = ("InfiniBand", "Ethernet")
# In bytes, of an attribute's string (resource.k8s.io/v1, DeviceAttributeMaxValueLength).
LONGEST = 64
MOST_RAIL, _MOST_GBPS = 1023, 100_000
# A slice has 128 devices at most, and DRANET writes one of them.
_MOST_DEVICES = 1024


class ConfigurationError(Exception):
    """A value is wrong; the text says which and what would be right."""


def is_text(value: Any) -> bool:
    """Whether it can be an attribute's string, and is nothing that would look like another in a terminal."""
    return isinstance(value, str) and value.isascii() and value.isprintable() and 0 < len(value.strip()) <= LONGEST


def _between(least: int, most: int) -> Any:
    return lambda value: is_integer(value) and least <= value <= most


_RULES: Mapping[str, Any] = {
    RAIL: (_between(0, MOST_RAIL), f"an integer of 0 to {MOST_RAIL}"),
    LEAF: (is_text, f"1 to {LONGEST} printable ASCII characters"),
    RATE: (_between(1, _MOST_GBPS), f"an integer of 1 to {_MOST_GBPS}"),
    LINK_LAYER: (lambda value: value in LAYERS, " or ".join(LAYERS)),
}
_PUBLISHED = {
    RAIL: (names.RAIL, "int"),
    LEAF: (names.LEAF, "string"),
    RATE: (names.RATE, "int"),
    LINK_LAYER: (names.LINK_LAYER, "string"),
}


def checked(content: Any) -> Devices:
    """The devices, if all of them are right. Raises ConfigurationError."""
    if not isinstance(content, dict) or len(content) > _MOST_DEVICES:
        raise ConfigurationError(f"devices must be a map of at most {_MOST_DEVICES} PCI addresses")
    for address, values in content.items():
        at = f"devices[{str(address)[:40]!r}]"
        if not isinstance(address, str) or not pci.is_address(address):
            raise ConfigurationError(f"{at}: the key must be a PCI address like 0000:1a:00.0")
        if not isinstance(values, dict):
            raise ConfigurationError(f"{at} must be a map of {', '.join(_RULES)}")
        for key, value in values.items():
            if key not in _RULES:
                raise ConfigurationError(f"{at} has the key {str(key)[:40]!r}, it must be one of {', '.join(_RULES)}")
            rule, right = _RULES[key]
            if not rule(value):
                raise ConfigurationError(f"{at}.{key} is {str(value)[:80]!r}, it must be {right}")
    return content


def read(text: str) -> Devices:
    """The devices of a file's content. Raises ConfigurationError."""
    try:
        content = json_object(text)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    if set(content) != {"devices"}:
        raise ConfigurationError("the file must be a JSON object with the key devices alone")
    return checked(content["devices"])


def attributes(values: Mapping[str, Any]) -> Answer:
    """The attributes of one device."""
    return {_PUBLISHED[key][0]: {_PUBLISHED[key][1]: value} for key, value in values.items()}


def published(values: Mapping[str, Any]) -> Dict[str, Any]:
    """By the attribute's name the value that the ResourceSlice shall have."""
    return {_PUBLISHED[key][0]: value for key, value in values.items()}
