# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What an audit says, to people and to programs."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit.page import html as audit_html
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import (
    Server,
    audited,
    deployments,
    named,
    node,
    pod,
)

CHECKOUT = Path(__file__).resolve().parents[4]
BLOCK = """\
  Deployment llm/prefill
    change it in: Helm release llm/llama
    stops   hostNetwork: true, port 8300 of the node
    stops   InferencePool llama has the target ports 8000, 8300
    change  port 8300, while Deployment decode has 8000
    change  dnsPolicy: ClusterFirstWithHostNet
    change  rdma/hca_shared_devices_a: 1 (container vllm)
    change  UCX_NET_DEVICES=mlx5_0:1 (container vllm)
    change  NCCL_IB_GID_INDEX=3 (container vllm)
    change  NCCL_SOCKET_IFNAME=eno1np0 (container vllm)
    change  VLLM_NIXL_SIDE_CHANNEL_HOST is status.hostIP (container vllm)
    look    UCX_TLS=rc,cuda_copy,tcp (container vllm)
"""


def audit_report(found: Any, created: str = "") -> str:
    return audit_html(document.read(found), created)


def test_every_code_has_its_texts_once() -> None:
    texts = {value for name, value in vars(catalogue).items() if name.isupper() and isinstance(value, str)}
    assert set(catalogue.TEXTS) == texts - set(catalogue.LEVELS)
    assert len({said.title for said in catalogue.TEXTS.values()} | {"Kueue"}) == len(catalogue.TEXTS) - 1


def test_a_workload() -> None:
    assert BLOCK in audited(audit_manifests.objects())["text"]
    assert BLOCK in (CHECKOUT / "docs" / "migrating.md").read_text("utf-8")


def test_the_worst_comes_first_in_all_parts() -> None:
    text = audited([*audit_manifests.objects(), node("n1", "v1.34.1")])["text"]
    parts = [
        "would have to change:",
        "Findings, the worst first",
        "Workloads, the worst first",
        "The cluster, the worst first",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    for start, end in zip(places[1:], [*places[2:], len(text)]):
        found = [
            line.split()[0] for line in text[start:end].splitlines() if line[2:8] in ("stops ", "change", "look  ")
        ]
        assert found == sorted(found, key=("stops", "change", "look").index)


def test_five_hundred_workloads_fit_on_a_few_screens() -> None:
    many = deployments(500)
    for item in many:
        item["metadata"]["namespace"] = "llm"
    text = audited(many)["text"]
    assert len(text.splitlines()) < 60
    assert "For a migration to DRA, 500 workloads would have to change:" in text
    # Two kinds of workloads, which differ in one resource; the ports are those of one image.
    assert text.count("(250 alike)") == 2
    assert max(map(len, text.splitlines())) <= 120


def test_many_different_workloads_are_counted() -> None:
    text = audited(deployments(500))["text"]
    assert (
        "... and 480 more workloads, which the page and the JSON file have (rdma_audit_html, rdma_audit_json)" in text
    )
    assert len(text.splitlines()) < 200


def test_nothing_to_change() -> None:
    assert audited([named("web"), node("n1")])["text"] == (
        "Kubernetes v1.36.3, DRA resource.k8s.io/v1, DRAExtendedResource on, DRAConsumableCapacity on\n"
        "For a migration to DRA, no workload would have to change."
    )


def test_nothing_is_promised_of_what_was_not_looked_at() -> None:
    server = Server([named("decode")])
    server.refused["/apis/apps/v1/deployments"] = ApiError(403, {"message": "deployments is forbidden"})
    result = audited([], server)
    said = "For a migration to DRA, no workload that could be examined would have to change"
    assert said in result["text"]
    assert said in audit_report(result)


def test_texts_of_others_cannot_steer_a_terminal() -> None:
    value = "mlx5_0\x1b[2J\nstops   nothing" + "x" * 200
    result = audited([pod(container={"env": [{"name": "NCCL_IB_HCA", "value": value}]})])
    (line,) = [line for line in result["text"].splitlines() if "NCCL_IB_HCA" in line]
    assert "\x1b" not in result["text"]
    assert r"mlx5_0\u001b[2J\nstops   nothing" in line
    assert len(line) < 150
    # As it is, for programs.
    assert result["workloads"][0]["findings"][1]["fields"]["value"] == value


def test_the_advice_is_that_of_the_codes_in_the_result() -> None:
    result: Any = audited(audit_manifests.objects())
    found = {finding["code"] for one in result["workloads"] for finding in one["findings"]}
    found |= {finding["code"] for finding in result["cluster"]}
    assert set(result["advice"]) == found
    assert {finding["level"] for one in result["workloads"] for finding in one["findings"]} == {
        "stops",
        "change",
        "look",
    }


def test_a_page_has_all_that_the_text_has_and_more() -> None:
    result = audited([*audit_manifests.objects(), node("n1", "v1.34.1")])
    page = html.unescape(audit_report(json.loads(json.dumps(result)), "2026-11-20 10:00 UTC"))
    assert "2026-11-20 10:00 UTC" in page
    for one in result["workloads"]:
        assert f"{one['namespace']}/{one['name']}" in page
        assert {finding["text"] for finding in one["findings"]} <= _texts(page)
        assert all(owner["text"] in page for owner in one["owners"])
    assert all(finding["text"] in page for finding in result["cluster"])
    assert all(advice in page for advice in result["advice"].values())
    assert all(one["name"] in page for one in result["others"])


def _texts(page: str) -> set[str]:
    return {line.strip() for line in re.split(r"<[^>]*>", page) if line.strip()}


def test_a_page_of_five_hundred_has_each_by_name() -> None:
    page = audit_report(audited(deployments(500)))
    assert len(set(re.findall(r'<tr id="[^"]*" data-host="([^"]*)">', page))) == 500
    assert len(re.findall(r'<article class="finding fail" id="finding-', page)) == 500


def test_texts_of_others_are_no_markup() -> None:
    value = "<script>alert(1)</script>"
    page = audit_report(
        audited([pod(metadata={"name": value}, container={"env": [{"name": "NCCL_IB_HCA", "value": value}]})])
    )
    assert value not in page
    assert page.count("&lt;script&gt;alert(1)") >= 2


def test_a_page_without_findings() -> None:
    page = audit_report(audited([named("web"), node("n1")]))
    assert "For a migration to DRA, no workload would have to change" in page
    assert 'href="#findings"' not in page


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.pop("cluster"), "cluster is missing, or of another type than workload_audit_info returns"),
        (lambda found: found["workloads"][0].update(owners="helm"), "owners is missing, or of another type"),
        (lambda found: found["workloads"][0].update(findings=[]), "a workload has no findings"),
        (lambda found: found["workloads"][0]["findings"][0].update(code="no"), "'no' is not the code of a finding"),
        (lambda found: found["workloads"][0]["findings"][0].update(fields={}), "fields of host_network are empty"),
    ],
)
def test_what_is_no_audit(change: Any, said: str) -> None:
    found = json.loads(json.dumps(audited(audit_manifests.objects())))
    change(found)
    with pytest.raises(document.SavedError, match=re.escape(said)):
        audit_report(found)
