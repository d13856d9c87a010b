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
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import ObjectRef, PodShape

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_WAYS = ("httpGet", "tcpSocket", "grpc")


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
class Other:
    """An object that leads to pods: a Service or an InferencePool, changed in place unless it ``stays``."""

    ref: ObjectRef
    item: Dict[str, Any]
    is_pool: bool
    stays: bool = False


Said = Iterator[Tuple[Server, str]]
Templates = Sequence[Tuple[ObjectRef, PodShape]]


def server(
    ref: ObjectRef, pod: PodShape, spec: Dict[str, Any], now: PodShape, document: int, more: Names
) -> List[Server]:
    """The template, if it listens on one port of the host. ``now`` is what the manifest has."""
    for container in ports.main_containers(pod, more):
        if pod.host_network and container.image and len(container.ports) == 1:
            port = container.ports[0]
            same = [same.ports[0] for same in now.containers if same.name == container.name and len(same.ports) == 1]
            return [Server(ref, pod, spec, port, container.name, (*same, port)[0], document)]
    return []


def _selector(other: Other) -> Mapping[str, str]:
    selector = table(at(other.item, "spec", "selector"))
    return strings(selector.get("matchLabels") if "matchLabels" in selector else selector)


def leads(other: Other, ref: ObjectRef, pod: PodShape) -> bool:
    """Whether it selects the pods of a template of ``ref``."""
    selector = _selector(other)
    return other.ref.namespace == ref.namespace and bool(selector) and selector.items() <= pod.labels.items()


def _added(other: Other, ref: ObjectRef, pod: PodShape) -> str:
    """A label by which it selects pods of ``ref`` although the template lacks it, because their controller adds it.

    Such labels have the name of the object (``leaderworkerset.sigs.k8s.io/name``) or one made of it; no list of them
    would be complete.
    """
    selector = _selector(other)
    if other.ref.namespace != ref.namespace or any(
        pod.labels.get(key, value) != value for key, value in selector.items()
    ):
        return ""
    missing = [key for key in selector if key not in pod.labels and "/" in key]
    return next((key for key in missing if f"{selector[key]}-".startswith(f"{ref.name}-")), "")


def _pool_ports(pool: Other) -> List[int]:
    spec = table(at(pool.item, "spec"))
    found = [integer(port.get("number")) for port in entries(spec.get("targetPorts"))]
    return [port for port in (found or [integer(spec.get("targetPortNumber"))]) if port is not None]


def bring_back(servers: Sequence[Server], others: Sequence[Other], staying: Templates = ()) -> Said:
    """Give servers of one image in one namespace one port. Yields what could not be done, and why.

    ``staying`` are the templates that keep their ports, whatever leads to them.
    """
    twins: Dict[Tuple[str, str], List[Server]] = {}
    for server in servers:
        images = {container.name: container.image for container in server.pod.containers}
        twins.setdefault((server.ref.namespace, ports.repository(images[server.container])), []).append(server)
    for several in twins.values():
        have = {server.port for server in several}
        if len(have) < 2:
            # Its twin may be written elsewhere.
            for server in several:
                if server.now != server.port:
                    yield from _remap(server, server.now, others, staying)
            continue
        pools = [_pool_ports(other) for other in others if other.is_pool]
        of_pools = [port for found in pools if len(found) > 1 for port in found]
        target = next((port for port in of_pools if port in have), min(have))
        for server in several:
            if server.port != target:
                yield from _remap(server, target, others, staying)
    for other in others:
        led = [server for server in servers if leads(other, server.ref, server.pod)]
        if other.is_pool:
            _narrow(other, led)
        else:
            _redirect(other, led)


def _remap(server: Server, target: int, others: Sequence[Other], staying: Templates) -> Said:
    spec = copy.deepcopy(server.spec)
    for container in _containers(spec):
        if container.get("name", server.container) == server.container:
            _replace(container, server.port, target)
    taken = [
        container.name
        for container in server.pod.containers
        if container.name != server.container and target in container.ports
    ]
    leading = [other for other in others if leads(other, server.ref, server.pod)]
    headless = [other for other in leading if not other.is_pool and _is_headless(other)]
    stuck = [other for other in leading if other.stays]
    beside = [
        f"{other.ref} also leads to {ref}, which keeps it"
        for other in leading
        for ref, pod in staying
        if leads(other, ref, pod) and any(server.port in container.ports for container in pod.containers)
    ]
    added = [(other.ref, label) for other in others for label in [_added(other, server.ref, server.pod)] if label]
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


def _is_headless(other: Other) -> bool:
    return text(at(other.item, "spec", "clusterIP")) == "None"


def _redirect(service: Other, led: Sequence[Server]) -> None:
    """Keep the Service's own port, by which clients know it."""
    still = {server.port for server in led}
    for server in led:
        for port in entries(at(service.item, "spec", "ports")) if server.was and server.was not in still else ():
            if port.get("targetPort", port.get("port")) == server.was and isinstance(port, dict):
                port["targetPort"] = server.port


def _narrow(pool: Other, led: Sequence[Server]) -> None:
    """Each port of the pool that its pods had is the one that they have now, once."""
    still = {server.port for server in led}
    new = {server.was: server.port for server in led if server.was and server.was not in still}
    spec = at(pool.item, "spec")
    if not new:
        return
    if isinstance(spec.get("targetPorts"), list):
        found: List[Any] = []
        for port in spec["targetPorts"]:
            number = port.get("number") if isinstance(port, dict) else None
            if number in new:
                port["number"] = new[number]
            if port not in found:
                found.append(port)
        spec["targetPorts"] = found
    elif spec.get("targetPortNumber") in new:
        spec["targetPortNumber"] = new[spec["targetPortNumber"]]
