# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""In which order objects are applied; they are deleted in the reverse order."""

from __future__ import annotations

from typing import Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import GroupKind

# What others need comes before them. A webhook comes last, so that it does not judge the objects that make it work.
_RANKS: List[Dict[str, List[str]]] = [
    {"": ["Namespace"], "apiextensions.k8s.io": ["CustomResourceDefinition"]},
    {
        "": ["ConfigMap", "LimitRange", "PersistentVolume", "ResourceQuota", "Secret", "Service", "ServiceAccount"],
        "node.k8s.io": ["RuntimeClass"],
        "networking.k8s.io": ["NetworkPolicy"],
        "policy": ["PodDisruptionBudget"],
        "rbac.authorization.k8s.io": ["ClusterRole", "Role"],
        "resource.k8s.io": ["DeviceClass"],
        "scheduling.k8s.io": ["PriorityClass"],
        "storage.k8s.io": ["CSIDriver", "StorageClass"],
    },
    {
        "": ["PersistentVolumeClaim"],
        "rbac.authorization.k8s.io": ["ClusterRoleBinding", "RoleBinding"],
        "resource.k8s.io": ["ResourceClaim", "ResourceClaimTemplate"],
    },
    {
        "": ["Pod", "ReplicationController"],
        "apps": ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        "batch": ["CronJob", "Job"],
    },
    # Here comes every other kind: most are custom resources, for which a workload of the set may be the controller.
    {},
    {
        "admissionregistration.k8s.io": [
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
        "apiregistration.k8s.io": ["APIService"],
    },
]
_OTHERS = _RANKS.index({})
_RANK = {
    GroupKind(group, kind): rank
    for rank, groups in enumerate(_RANKS)
    for group, kinds in groups.items()
    for kind in kinds
}


def rank(kind: GroupKind) -> int:
    """The place of a kind in the order. Objects of one rank may be applied at the same time."""
    return _RANK.get(kind, _OTHERS)
