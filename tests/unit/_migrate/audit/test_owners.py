# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Who owns the manifest of a workload."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue, pods


def entry(manager: str, fields: str = "f:spec", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {fields: {}}, **more}


def told(*managers: Any, labels: Any = None, annotations: Any = None) -> list[str]:
    meta = {"managedFields": list(managers), "labels": labels or {}, "annotations": annotations or {}}
    return [catalogue.owner_text(owner) for owner in pods.owners(meta)]


HELM = {"meta.helm.sh/release-name": "llama", "meta.helm.sh/release-namespace": "llm"}
CHART = {"app.kubernetes.io/managed-by": "Helm"}


@pytest.mark.parametrize(
    ("managers", "labels", "annotations", "expected"),
    [
        ([entry("helm")], CHART, HELM, ["Helm release llm/llama"]),
        ([entry("Helm")], CHART, {}, ["Helm release (Helm)"]),
        # helm 2 and template | apply leave no annotation, and the label alone may come from either.
        ([entry("kubectl-client-side-apply")], CHART, {}, ["its manifest (kubectl)"]),
        ([entry("kubectl", operation="Apply")], {}, {}, ["its manifest (kubectl)"]),
        (
            [entry("argocd-controller")],
            CHART,
            {"argocd.argoproj.io/tracking-id": "serving:apps/Deployment:llm/prefill"},
            ["Argo CD application serving"],
        ),
        (
            [entry("argocd-application-controller")],
            {"argocd.argoproj.io/instance": "serving"},
            {},
            ["Argo CD application serving"],
        ),
        (
            [entry("kustomize-controller")],
            {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
            {},
            ["Flux flux-system/apps"],
        ),
        # Flux runs helm, so the release is its own; and whoever edits by hand comes last.
        (
            [entry("kubectl-edit"), entry("helm-controller")],
            {"helm.toolkit.fluxcd.io/name": "llama", "helm.toolkit.fluxcd.io/namespace": "llm", **CHART},
            HELM,
            ["Flux llm/llama", "its manifest (kubectl)"],
        ),
        ([entry("terraform")], {}, {}, ["(terraform)"]),
        # Without managedFields, which some clients strip, the marks speak.
        ([], CHART, HELM, ["Helm release llm/llama"]),
        ([], {}, {}, []),
    ],
)
def test_who_owns_a_manifest(managers: Any, labels: Any, annotations: Any, expected: list[str]) -> None:
    assert told(*managers, labels=labels, annotations=annotations) == expected


@pytest.mark.parametrize(
    "manager",
    [
        entry("kube-controller-manager"),
        entry("hpa", "f:status"),
        entry("scaler", subresource="scale"),
        entry("labeller", "f:metadata"),
        {"manager": "helm"},
        {"manager": 7, "fieldsV1": {"f:spec": {}}, "subresource": []} | {"manager": ""},
        "nonsense",
    ],
)
def test_who_does_not(manager: Any) -> None:
    assert told(manager) == []
