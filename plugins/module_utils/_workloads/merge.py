# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""RDMA for containers of a given manifest, whose text otherwise stays as it is."""

from __future__ import annotations

import copy
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import workloads, yaml_text, yaml_values
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, is_gpu, is_rdma
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import GroupAsk, Manifest, Settings


class MergeError(ValueError):
    """Why a manifest stays as it is, in one line."""


def _kind(item: Any) -> Kind:
    group, _slash, _version = text(at(item, "apiVersion")).rpartition("/")
    return Kind(group, text(at(item, "kind")))


def _objects(document: Any) -> Sequence[Any]:
    return entries(document.get("items")) if at(document, "kind") == "List" else [document]


def _wanted(documents: Sequence[Any], container: str) -> Iterator[Tuple[Manifest, Any, Manifest, Manifest]]:
    """Object, holder of the metadata, spec and container, wherever pods have a container of this name."""
    for item in [item for document in documents for item in _objects(document)]:
        kind = _kind(item)
        for template in workloads.templates(kind, table(item)):
            for entry in entries(template.spec.get("containers")):
                if entry.get("name") == container:
                    holder = workloads.holder(kind, item, template.place)
                    yield item, holder, template.spec, entry  # type: ignore[misc]  # as they are in the document


def merged(manifest: str, container: str, ask: GroupAsk, settings: Settings) -> str:
    """The text of a manifest, in which containers of this name get what ``ask`` requests. Raises MergeError.

    What is there already stays, and a second time changes nothing.
    """
    try:
        before = yaml_values.read(manifest)
        after = copy.deepcopy(before)
        found = list(_wanted(after, container))
        if not found:
            raise MergeError(f"no pod in it has a container {container}")
        for item, holder, spec, own in found:
            where = f"{item['kind']} {text(at(item, 'metadata', 'name'))}"
            _merge(where, item, (holder, spec, own), ask, settings)
        return yaml_text.changed(manifest, before, after)
    except yaml_values.TextError as error:
        raise MergeError(str(error)) from error


def _right(ask: GroupAsk, namespace: str) -> str:
    """What would let pods of this namespace have the claim and the script."""
    if ask.request.namespace:
        return f"pods with {ask.request.name} must be in {ask.request.namespace}"
    if ask.claim and namespace not in ask.namespaces:
        return f"add {namespace} to rdma_claims_namespaces, and set rdma_workloads_namespace to {namespace}"
    return f"set rdma_workloads_namespace to {namespace}"


def _merge(
    where: str, item: Manifest, place: Tuple[Any, Manifest, Manifest], ask: GroupAsk, settings: Settings
) -> None:
    holder, spec, container = place
    # What the examples request as GPUs is one of the site's own names.
    more = Names(gpus=(*settings.gpu_resources, settings.gpu_resource, ask.request.gpu_resource))
    gpus = [name for name in _limits(container) if is_gpu(name, more)]
    namespace, wanted = text(at(item, "metadata", "namespace")), pod.namespace_of(ask, settings)
    if namespace and namespace != wanted:
        raise MergeError(
            f"{where} is in namespace {namespace}, but claims and script are in {wanted}: {_right(ask, namespace)}"
        )
    if ask.claim and spec.get("hostNetwork") is True:
        raise MergeError(f"{where} has hostNetwork, so its pods would get no NIC from a claim: remove hostNetwork")
    others = [name for name in _limits(container) if is_rdma(name, more)]
    if ask.claim and others:
        raise MergeError(f"{where} has a limit of {others[0]}, and the claim has NICs as well: remove the limit")
    if ask.gpus and gpus:
        raise MergeError(
            f"{where} has a limit of {gpus[0]}, and the claim has {ask.gpus} GPUs as well: remove the limit"
        )
    if not container.get("command"):
        raise MergeError(f"{where} has no command to put the script before: add the command that the image starts")
    if not isinstance(container["command"], list):
        raise MergeError(f"{where} has a command that is not a list")
    parts = copy.deepcopy(pod.adds(ask, settings))
    added = parts["container"]
    if gpus:
        limits = table(added["resources"].get("limits"))
        added["resources"]["limits"] = {name: value for name, value in limits.items() if not is_gpu(name, more)}
    if parts["annotations"]:
        if holder is None:
            raise MergeError(f"{where} has no place for the annotations of its pods")
        _keys(where, _below(where, _below(where, holder, "metadata"), "annotations"), parts["annotations"])
    _container(where, container, added)
    own = parts["pod"]
    # That of a container, not this machine's.
    if not any(mount.get("mountPath") == "/dev/shm" and mount.get("name") != "dshm" for mount in _mounts(container)):  # noqa: S108
        _entries(where, spec, "volumes", own["volumes"], "name")
    else:
        _entries(where, spec, "volumes", [volume for volume in own["volumes"] if volume["name"] != "dshm"], "name")
    claims = own.get("resourceClaims", ())
    _entries(where, spec, "resourceClaims", claims, "name")
    wrong = [claim["name"] for claim in claims if claim not in spec["resourceClaims"]]
    if wrong:
        raise MergeError(f"{where} has a different claim with the name {wrong[0]}: rename or remove it")
    _keys(where, spec, {name: own[name] for name in ("hostNetwork", "dnsPolicy") if name in own})
    if "initContainers" in own:
        check = pod.init_container({"env": [], **container}, settings.check_image)
        if "image" not in check:
            raise MergeError(f"{where} has no image for the init container: set rdma_workloads_check_image")
        _entries(where, spec, "initContainers", [check], "name")


def _container(where: str, container: Manifest, added: Mapping[str, Any]) -> None:
    if list(container["command"][: len(pod.WITH_RDMA)]) != list(pod.WITH_RDMA):
        container["command"] = [*pod.WITH_RDMA, *container["command"]]
    _entries(where, container, "env", added["env"], "name")
    _entries(where, container, "volumeMounts", added["volumeMounts"], "mountPath")
    resources = added["resources"]
    if resources.get("limits"):
        _keys(where, _below(where, _below(where, container, "resources"), "limits"), resources["limits"])
    if resources.get("claims"):
        _entries(where, _below(where, container, "resources"), "claims", resources["claims"], "name")
    capabilities = at(added, "securityContext", "capabilities", "add")
    if capabilities:
        has = _below(where, _below(where, container, "securityContext"), "capabilities")
        there = _listed(where, has, "add")
        has["add"] = [*there, *(capability for capability in capabilities if capability not in there)]


def _mounts(container: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    return entries(container.get("volumeMounts"))


def _limits(container: Mapping[str, Any]) -> Mapping[str, Any]:
    return table(at(container, "resources", "limits"))


def _below(where: str, value: Manifest, key: str) -> Manifest:
    """The map below a key, made where there is none."""
    if value.get(key) is None:
        value[key] = {}
    found: Dict[str, Any] = value[key]
    if not isinstance(found, dict):
        raise MergeError(f"{where}: {key} is not a map")
    return found


def _listed(where: str, value: Manifest, key: str) -> List[Any]:
    """The list below a key, which may be missing."""
    found = value.get(key)
    if not isinstance(found, (list, type(None))):
        raise MergeError(f"{where}: {key} is not a list")
    return found or []


def _keys(where: str, value: Manifest, wanted: Mapping[str, Any]) -> None:
    for name, right in wanted.items():
        if value.setdefault(name, right) != right and str(value[name]) != str(right):
            raise MergeError(f"{where} has {name} {value[name]}, it must be {right}")


def _entries(where: str, value: Manifest, key: str, wanted: Sequence[Mapping[str, Any]], name: str) -> None:
    """Entries of a list that is by name; one that is there stays as it is."""
    listed = _listed(where, value, key)
    there = [entry.get(name) for entry in entries(listed)]
    new = [dict(entry) for entry in wanted if entry[name] not in there]
    if new:
        value[key] = [*listed, *new]
