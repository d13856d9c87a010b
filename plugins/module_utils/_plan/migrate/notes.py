# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What ConfigMaps and rules of Prometheus say about NICs of hosts, and which DeviceClasses Kueue knows."""

from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import (
    at,
    entries,
    strings,
    table,
    text,
    texts,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import Kind, ObjectRef

# Metrics of node_exporter's infiniband collector, checks of LBNL NHC, and how a check of a node names an HCA.
_CERTAIN = re.compile(r"node_infiniband_\w*|check_hw_ib|check_hw_eth")
_NIC = re.compile(r"/sys/class/infiniband|ibstat|ibv_dev\w*|infiniband|\bmlx5_\w*|\brdma (?:link|dev)\b|\broce\b", re.I)
_CHECK_NAME = re.compile(
    r"problem-detector|\bnpd\b|nhc|gpud|nvsentinel|health|checks?\b|alert|prometheus|rules|monitor"
)
_KUEUE = "config.kueue.x-k8s.io/"
_LONGEST = 1 << 20


class HealthNote(NamedTuple):
    """An object with a rule or check about NICs; ``sign`` is the text that says so."""

    ref: ObjectRef
    known: str
    sign: str


class KueueNote(NamedTuple):
    """The DeviceClasses that Kueue's configuration maps."""

    ref: ObjectRef
    classes: Tuple[str, ...]


def _ref(kind: Kind, item: Any) -> ObjectRef:
    meta = table(at(item, "metadata"))
    return ObjectRef(kind, text(meta.get("namespace")), text(meta.get("name")))


def _kueue(content: str) -> Tuple[str, ...]:
    import yaml

    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, RecursionError, ValueError):
        return ()
    mappings = entries(at(found, "resources", "deviceClassMappings"))
    return tuple(name for mapping in mappings for name in texts(mapping.get("deviceClassNames")))


def of_config_map(item: Any) -> Iterator[Any]:
    """A KueueNote or HealthNote, if it is either."""
    ref = _ref(Kind("", "ConfigMap"), item)
    contents = strings(at(item, "data"))
    named = any(_CHECK_NAME.search(name.lower()) for name in (ref.name, *contents))
    for content in contents.values():
        if _KUEUE in content[:_LONGEST]:
            yield KueueNote(ref, _kueue(content))
            return
        sign = _CERTAIN.search(content, 0, _LONGEST) or (_NIC.search(content, 0, _LONGEST) if named else None)
        if sign:
            yield HealthNote(ref, "checks or alerts", sign[0])
            return


def of_rule(item: Any) -> Optional[HealthNote]:
    """A PrometheusRule with an alert on metrics of RDMA devices."""
    for group in entries(at(item, "spec", "groups")):
        for rule in entries(group.get("rules")):
            sign = _CERTAIN.search(text(rule.get("expr")), 0, _LONGEST) or _NIC.search(text(rule.get("expr")))
            if sign and text(rule.get("alert")):
                ref = _ref(Kind("monitoring.coreos.com", "PrometheusRule"), item)
                return HealthNote(ref, f"alert {text(rule.get('alert'))}", sign[0])
    return None
