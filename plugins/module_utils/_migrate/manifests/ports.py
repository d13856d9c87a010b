# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Ports that were remapped because pods shared the host's network: back to one, with Services and InferencePools."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import (
    at,
    entries,
    integer,
    strings,
    table,
    text,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import PodShape

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_WAYS = ("httpGet", "tcpSocket", "grpc")
_NAMING = ("port", "targetPort", "portNumber", "endPort")


@dataclass
class Server:
    """A template that left the host's network: what it was, and its spec, which is changed in place.

    ``now`` is its port in the manifest, another than ``port`` if an earlier rewrite changed it. ``document`` is the
    number of the document that it is in.
    """

    ref: ObjectRef
    pod: PodShape
    spec: Dict[str, Any]
    port: int
    container: str
    now: int
    document: int
    was: int = 0


@dataclass
class Frontend:
    """An object that leads to pods: a Service or an InferencePool, changed in place unless it ``stays``."""

    ref: ObjectRef
    item: Dict[str, Any]
    is_pool: bool
    stays: bool = False


Problems = Iterator[Tuple[Server, str]]
Templates = Sequence[Tuple[ObjectRef, PodShape]]


def server(
    ref: ObjectRef, pod: PodShape, spec: Dict[str, Any], now: PodShape, document: int, site: Names
) -> List[Server]:
    """The template, if it listens on one port of the host. ``now`` is what the manifest has."""
    for container in findings.main_containers(pod, site):
        if pod.host_network and container.image and len(container.ports) == 1:
            port = container.ports[0]
            same = [same.ports[0] for same in now.containers if same.name == container.name and len(same.ports) == 1]
            return [Server(ref, pod, spec, port, container.name, (*same, port)[0], document)]
    return []


def _selector(frontend: Frontend) -> Mapping[str, str]:
    selector = table(at(frontend.item, "spec", "selector"))
    return strings(selector.get("matchLabels") if "matchLabels" in selector else selector)


class Leading:
    """Which of these objects lead to a template. Looked up by a label that they select, not one by one."""

    def __init__(self, frontends: Sequence[Frontend]) -> None:
        self._found: Dict[Tuple[str, str, str], List[Tuple[int, Frontend, Mapping[str, str]]]] = {}
        # Those that may select a label which a controller adds.
        self.added: Dict[str, List[Frontend]] = {}
        for number, frontend in enumerate(frontends):
            selector = _selector(frontend)
            for label in list(selector.items())[:1]:
                self._found.setdefault((frontend.ref.namespace, *label), []).append((number, frontend, selector))
            if any("/" in name for name in selector):
                self.added.setdefault(frontend.ref.namespace, []).append(frontend)

    def to(self, ref: ObjectRef, pod: PodShape) -> List[Frontend]:
        """Those that select the pods of a template of ``ref``."""
        found = [
            (number, frontend)
            for label in pod.labels.items()
            for number, frontend, selector in self._found.get((ref.namespace, *label), ())
            if selector.items() <= pod.labels.items()
        ]
        return [frontend for _number, frontend in sorted(found, key=lambda each: each[0])]


class Naming:
    """What other objects, such as NetworkPolicies, name by its number. That it is the pods' is not known of all."""

    def __init__(self) -> None:
        self._numbers: Dict[Tuple[str, int], ObjectRef] = {}
        self._ranges: Dict[str, Dict[Tuple[int, int], ObjectRef]] = {}

    def add(self, ref: ObjectRef, item: Any) -> None:
        # Cilium's policies have either.
        waiting = [at(item, "spec"), at(item, "specs")]
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting += value
            elif isinstance(value, dict):
                waiting += value.values()
                self._of_map(ref, value)

    def _of_map(self, ref: ObjectRef, value: Mapping[str, Any]) -> None:
        for key in _NAMING:
            # Istio has a map there.
            number = integer(at(value, key, "number") if isinstance(value.get(key), dict) else value.get(key))
            if number is not None:
                self._numbers.setdefault((ref.namespace, number), ref)
        first, last = integer(value.get("port")), integer(value.get("endPort"))
        if first is not None and last is not None:
            self._ranges.setdefault(ref.namespace, {}).setdefault((first, last), ref)

    def of(self, namespace: str, old: int, new: int) -> List[ObjectRef]:
        """One that names the old port and, if it is in a range, not the new one as well."""
        exact = self._numbers.get((namespace, old))
        found = (
            ref
            for (first, last), ref in self._ranges.get(namespace, {}).items()
            if first <= old <= last and not first <= new <= last
        )
        return [exact] if exact else list(found)[:1]


def _added(frontend: Frontend, ref: ObjectRef, pod: PodShape) -> str:
    """A label by which it selects pods of ``ref`` although the template lacks it, because their controller adds it.

    Such labels have the name of the object (``leaderworkerset.sigs.k8s.io/name``) or one made of it; no list of them
    would be complete.
    """
    selector = _selector(frontend)
    if frontend.ref.namespace != ref.namespace or any(
        pod.labels.get(key, value) != value for key, value in selector.items()
    ):
        return ""
    missing = [key for key in selector if key not in pod.labels and "/" in key]
    return next((key for key in missing if f"{selector[key]}-".startswith(f"{ref.name}-")), "")


def _pool_ports(pool: Frontend) -> List[int]:
    spec = table(at(pool.item, "spec"))
    found = [integer(port.get("number")) for port in entries(spec.get("targetPorts"))]
    return [port for port in (found or [integer(spec.get("targetPortNumber"))]) if port is not None]


def unify(
    servers: Sequence[Server], frontends: Sequence[Frontend], naming: Naming, staying: Templates = ()
) -> Problems:
    """Give servers of one image in one namespace one port. Yields what could not be done, and why.

    ``staying`` are the templates that keep their ports, whatever leads to them.
    """
    leading = Leading(frontends)
    # By the object that leads to them.
    beside: Dict[int, List[Tuple[ObjectRef, PodShape]]] = {}
    for ref, pod in staying:
        for frontend in leading.to(ref, pod):
            beside.setdefault(id(frontend), []).append((ref, pod))
    pools = [_pool_ports(frontend) for frontend in frontends if frontend.is_pool]
    of_pools = [port for found in pools if len(found) > 1 for port in found]
    twins: Dict[Tuple[str, str], List[Server]] = {}
    for server in servers:
        images = {container.name: container.image for container in server.pod.containers}
        twins.setdefault((server.ref.namespace, findings.repository(images[server.container])), []).append(server)
    for several in twins.values():
        have = {server.port for server in several}
        if len(have) < 2:
            # Its twin may be written elsewhere.
            for server in several:
                if server.now != server.port:
                    yield from _remap(server, server.now, leading, beside, naming)
            continue
        target = next((port for port in of_pools if port in have), min(have))
        for server in several:
            if server.port != target:
                yield from _remap(server, target, leading, beside, naming)
    of_frontends: Dict[int, List[Server]] = {}
    for server in servers:
        for frontend in leading.to(server.ref, server.pod):
            of_frontends.setdefault(id(frontend), []).append(server)
    for frontend in frontends:
        led = of_frontends.get(id(frontend), [])
        if frontend.is_pool:
            _narrow(frontend, led)
        else:
            _redirect(frontend, led)


def _remap(server: Server, target: int, every: Leading, others: Mapping[int, Templates], naming: Naming) -> Problems:
    spec = copy.deepcopy(server.spec)
    for container in _containers(spec):
        if container.get("name", server.container) == server.container:
            _replace(container, server.port, target)
    taken = [
        container.name
        for container in server.pod.containers
        if container.name != server.container and target in container.ports
    ]
    leading = every.to(server.ref, server.pod)
    headless = [frontend for frontend in leading if not frontend.is_pool and _is_headless(frontend)]
    stuck = [frontend for frontend in leading if frontend.stays]
    beside = [
        f"{frontend.ref} also leads to {ref}, which keeps it"
        for frontend in leading
        for ref, pod in others.get(id(frontend), ())
        if any(server.port in container.ports for container in pod.containers)
    ]
    added = [
        (frontend.ref, label)
        for frontend in every.added.get(server.ref.namespace, ())
        for label in [_added(frontend, server.ref, server.pod)]
        if label
    ]
    named = naming.of(server.ref.namespace, server.port, target)
    what = f"port {server.port} stays, although {target} is the common port"
    if taken:
        yield server, f"{what}: container {taken[0]} has {target}"
    elif re.search(rf"(?<![0-9.]){server.port}(?![0-9.])", json.dumps([spec, server.pod.annotations])):
        yield server, f"{what}: {server.port} also appears elsewhere in the pod"
    elif headless:
        yield server, f"{what}: clients of the headless Service {headless[0].ref.name} use it directly"
    elif stuck:
        yield server, f"{what}: {stuck[0].ref} leads to it and cannot be changed"
    elif beside:
        yield server, f"{what}: {beside[0]}"
    elif added:
        yield server, f"{what}: {added[0][0]} seems to lead to it by {added[0][1]}, which the template does not have"
    elif named:
        yield server, f"{what}: {named[0]} names it"
    else:
        server.was, server.port = server.port, target
        server.spec.clear()
        server.spec.update(spec)


def _containers(spec: Mapping[str, Any]) -> List[Any]:
    model = [spec["model"]] if isinstance(spec.get("model"), dict) else []
    return [*entries(spec.get("containers")), *model, *entries(spec.get("initContainers"))]


def _replace(container: Any, old: int, new: int) -> None:
    flag = re.compile(rf"((?:^|\s)--port[=\s]\s*['\"]?){old}(?![0-9])")
    for part in ("command", "args"):
        words = container.get(part)
        for place, word in enumerate(words if isinstance(words, list) else ()):
            if isinstance(word, str):
                before = words[place - 1] if place else ""
                words[place] = str(new) if before == "--port" and word == str(old) else flag.sub(rf"\g<1>{new}", word)
    for port in entries(container.get("ports")):
        _exchange(port, "containerPort", old, new)
    actions = [at(container, probe) for probe in _PROBES] + [at(container, "lifecycle", hook) for hook in _HOOKS]
    for action in actions:
        for way in _WAYS:
            _exchange(at(action, way), "port", old, new)


def _exchange(value: Any, key: str, old: int, new: int) -> None:
    if isinstance(value, dict) and not isinstance(value.get(key), bool) and value.get(key) == old:
        value[key] = new


def _is_headless(frontend: Frontend) -> bool:
    return text(at(frontend.item, "spec", "clusterIP")) == "None"


def _redirect(service: Frontend, led: Sequence[Server]) -> None:
    """Keep the Service's own port, by which clients know it."""
    still = {server.port for server in led}
    for server in led:
        for port in entries(at(service.item, "spec", "ports")) if server.was and server.was not in still else ():
            if port.get("targetPort", port.get("port")) == server.was and isinstance(port, dict):
                port["targetPort"] = server.port


def _narrow(pool: Frontend, led: Sequence[Server]) -> None:
    """Each port of the pool that its pods had is the one that they have now, once."""
    still = {server.port for server in led}
    new = {server.was: server.port for server in led if server.was and server.was not in still}
    spec = at(pool.item, "spec")
    if not new:
        return
    if isinstance(spec.get("targetPorts"), list):
        found: List[Any] = []
        for port in spec["targetPorts"]:
            number = at(port, "number")
            if isinstance(number, int) and number in new:
                port["number"] = new[number]
            if port not in found:
                found.append(port)
        spec["targetPorts"] = found
    elif isinstance(spec.get("targetPortNumber"), int) and spec["targetPortNumber"] in new:
        spec["targetPortNumber"] = new[spec["targetPortNumber"]]
