# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Who owns a manifest, so that a change is made where it lasts.

Sources: ``metadata.managedFields`` with the managers of helm (``helm``), Argo CD (``argocd-controller``,
ArgoCDSSAManager of its common/common.go), Flux (``kustomize-controller``, ``helm-controller``) and kubectl
(``kubectl-client-side-apply`` and others), and the labels and annotations with which they mark what is theirs.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, strings, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import ManifestOwner

# Who changes it back comes before who is changed back.
_ORDER = ("argocd", "flux", "helm", "other", "kubectl")
# They scale, default and report; none of them has a manifest.
_CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kubelet", "k3s", "rke2", "vpa-recommender")
_CLIENT_SIDE, _LAST_APPLIED = "kubectl-client-side-apply", "kubectl.kubernetes.io/last-applied-configuration"
_KUSTOMIZE, _HELM_RELEASE = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"


def _tool(manager: str) -> str:
    if manager.startswith("argocd"):
        return "argocd"
    if manager in ("kustomize-controller", "helm-controller"):
        return "flux"
    if manager.lower() == "helm":
        return "helm"
    return "kubectl" if manager.startswith("kubectl") else "other"


def _qualified(marks: Mapping[str, str], namespace: str, name: str) -> str:
    parts = [marks[key] for key in (namespace, name) if marks.get(key)]
    return "/".join(parts) if marks.get(name) else ""


def _names(meta: Mapping[str, Any]) -> Dict[str, str]:
    """What each tool calls the manifest, by its own marks."""
    labels, annotations = strings(meta.get("labels")), strings(meta.get("annotations"))
    found = {
        "argocd": annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
        or labels.get("argocd.argoproj.io/instance", ""),
        "flux": _qualified(labels, f"{_HELM_RELEASE}/namespace", f"{_HELM_RELEASE}/name")
        or _qualified(labels, f"{_KUSTOMIZE}/namespace", f"{_KUSTOMIZE}/name"),
        "helm": _qualified(annotations, "meta.helm.sh/release-namespace", "meta.helm.sh/release-name"),
    }
    return {tool: name for tool, name in found.items() if name}


def owners(meta: Mapping[str, Any]) -> Tuple[ManifestOwner, ...]:
    """Those who manage the spec of an object with this metadata, the one whose change lasts first."""
    found: Dict[str, ManifestOwner] = {}
    names = _names(meta)
    for entry in entries(meta.get("managedFields")):
        manager = text(entry.get("manager"))
        whole = not text(entry.get("subresource")) and "f:spec" in table(at(entry, "fieldsV1"))
        if manager and whole and manager not in _CONTROLLERS:
            tool = _tool(manager)
            key = manager if tool == "other" else tool
            found.setdefault(key, ManifestOwner(tool, names.get(tool, ""), manager))
    for tool, name in names.items():
        # Flux runs helm itself, and Argo CD renders charts: the release is theirs.
        if tool not in found and not (tool == "helm" and {"flux", "argocd"} & {*found, *names}):
            found[tool] = ManifestOwner(tool, name)
    return tuple(sorted(found.values(), key=lambda owner: (_ORDER.index(owner.tool), owner.manager)))


def keepers(meta: Mapping[str, Any], known: Sequence[str]) -> List[ManifestOwner]:
    """Those of the owners who write the manifest again, and would undo what was changed in the cluster.

    Not ``known`` managers, and not the commands of kubectl that change something once (``kubectl-create`` ...).
    """
    found = [owner for owner in owners(meta) if owner.manager not in known and not _once(owner.manager)]
    applied = _LAST_APPLIED in strings(meta.get("annotations")) and _CLIENT_SIDE not in known
    if applied and not any(owner.tool == "kubectl" for owner in found):
        found.append(ManifestOwner("kubectl", manager=_CLIENT_SIDE))
    return found


def _once(manager: str) -> bool:
    return manager.startswith("kubectl-") and manager != _CLIENT_SIDE
