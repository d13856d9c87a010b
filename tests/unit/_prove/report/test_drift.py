# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Differences of a fleet as text and JSON, equal ones once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import HostPlan, RunPlan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _plan_files
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import report


def concern(*changes: tuple[str, str, Any, Any], **others: Any) -> dict[str, Any]:
    found = [dict(zip(("kind", "name", "before", "after"), change)) for change in changes]
    always: dict[str, Any] = {"warnings": [], "reboot_reasons": [], "error": None}
    return {**always, "changed": bool(changes), "changes": found, **others}


def profiles(host: int, rails: int = 8) -> dict[str, Any]:
    paths = [f"/etc/NetworkManager/system-connections/rdma-rail{rail}.nmconnection" for rail in range(rails)]
    diff = [
        {
            "before_header": f"{path} (absent)",
            "after_header": path,
            "before": "",
            "after": f"[ipv4]\naddress1=10.{rail}.0.{host}/24\nmac=B8:59:9F:{host:02X}:4F:{rail:02X}\n",
        }
        for rail, path in enumerate(paths)
    ]
    links = [
        {
            "name": f"rdma-rail{rail}",
            "mac": f"b8:59:9f:{host:02x}:4f:{rail:02x}",
            "addresses": [
                {"netdev": f"ib{rail}", "address": f"10.{rail}.0.{host}/24", "mtu": 9000, "uuid": f"{host:08}-{rail}"}
            ],
        }
        for rail in range(rails)
    ]
    return concern(*(("file", path, "absent", "present") for path in paths), diff=diff, links=links)


def answer(**concerns: Any) -> dict[str, Any]:
    differs = any(one["changed"] or one["error"] for one in concerns.values())
    return {"changed": False, "differs": differs, "concerns": concerns}


def fleet() -> dict[str, dict[str, Any]]:
    hosts: dict[str, dict[str, Any]] = {}
    for number in range(1, 13):
        kernel = concern(("module", "rdma_cm", "unloaded", "loaded"), ("module", "rdma_ucm", "unloaded", "loaded"))
        runtime = concern(
            ("file", "/etc/containerd/conf.d/90-zerocopy-rdma-nri.toml", "absent", "present"),
            ("file", "/etc/containerd/config.toml", "present", "present"),
            ("service", "containerd.service", "running", "restarted"),
        )
        hosts[f"h100-{number:02}"] = {
            "group_names": ["h100"],
            "rdma_drift_result": answer(kernel=kernel, links=profiles(number), runtime=runtime),
        }
    same = concern(reboot_reasons=["ib_core.netns_mode is Y, 0 counts from the next boot"])
    hosts["v100-1"] = {"group_names": ["v100"], "rdma_drift_result": answer(kernel=same, links=concern())}
    hosts["v100-2"] = {"group_names": ["v100"]}
    return hosts


def test_what_teardown_leaves_is_told_by_host_and_how_to_finish() -> None:
    kept = "/etc/x was edited since this collection wrote it, so it is kept"
    hosts: dict[str, Any] = {
        **{f"n{one}": {"__rdma_drift_revert": answer(kernel=concern(warnings=[kept]))} for one in (1, 2)},
        "n3": {"__rdma_drift_revert": answer(kernel=concern(), links=concern(error="a VF is\nin use"))},
        "n4": {"__rdma_drift_revert": answer(kernel=concern())},
        "n5": {},
    }
    first, *lines, finish = report("revert", hosts)["lines"]
    assert first == "Not reverted, or in need of attention:"
    assert lines == [f"  n[1-2]: kernel: {kept}", "  n3: links: a VF is in use", "  n5: no answer"]
    assert "run teardown again" in finish
    assert report("revert", {"n4": hosts["n4"]})["lines"] == []


def test_equal_changes_are_told_once() -> None:
    hosts = fleet()
    view = report("drift", hosts)
    files = "+1 file (/etc/containerd/conf.d/90-zerocopy-rdma-nri.toml), ~1 file (/etc/containerd/config.toml)"
    runtime = f"{files}; restart containerd.service"
    assert view["text"].splitlines() == [
        "12 of 14 nodes differ from the plan.",
        "",
        "h100: 12 nodes: h100-[01-12]",
        "  kernel   load rdma_cm, rdma_ucm",
        "  links    +8 profiles",
        f"  runtime  {runtime}",
        "",
        "--diff shows the differences of these files.",
        "",
        "Warnings:",
        "  v100-1: kernel: needs a reboot: ib_core.netns_mode is Y, 0 counts from the next boot",
        "",
        "No answer: v100-2",
    ]
    assert (view["differ"], view["silent"]) == ([f"h100-{number:02}" for number in range(1, 13)], ["v100-2"])
    assert view["kinds"] == [
        {
            "group": "h100",
            "hosts": view["differ"],
            "concerns": {
                "kernel": "load rdma_cm, rdma_ucm",
                "links": "+8 profiles",
                "runtime": runtime,
            },
        }
    ]
    assert json.loads(json.dumps(view["hosts"]))["v100-1"]["differs"] is False


def test_a_diff_is_shown_once_for_hosts_that_differ_in_their_own_addresses_only() -> None:
    hosts = fleet()
    text = report("drift", hosts, diff=True)["text"]
    assert text.count("+address1=") == 8
    mine = ", each with its own addresses and MAC addresses (shown: h100-01):"
    assert f"links of h100-[01-12]{mine}" in text.splitlines()
    assert "--diff" not in text
    assert "kernel of" not in text, "there is nothing to show"
    # More than an address is another difference, of one file on one host.
    hosts["h100-12"]["rdma_drift_result"]["concerns"]["links"]["diff"][0]["after"] += "never-default=true\n"
    text = report("drift", hosts, diff=True)["text"]
    assert (text.count("+address1="), text.count("+never-default=true")) == (9, 1)
    assert f"links of h100-[01-11]{mine}" in text.splitlines()
    assert "links of h100-12:" in text.splitlines()


def test_a_preview_has_every_address() -> None:
    hosts = fleet()
    assert "10.7.0.12" not in report("drift", hosts)["text"]
    text = report("drift", hosts, check=True)["text"]
    lines = [line.split() for line in text.splitlines()]
    assert ["HOST", "GROUP", "NETDEV", "RAIL", "ADDRESS", "MTU"] in lines
    for host in range(1, 13):
        for rail in range(8):
            assert [f"h100-{host:02}", "h100", f"ib{rail}", str(rail), f"10.{rail}.0.{host}/24", "9000"] in lines
    # Counts come first, differences of files only with --diff.
    assert lines[0][:4] == ["12", "of", "14", "nodes"]
    assert "+address1=" not in text


def test_a_preview_names_hosts_whose_rails_get_no_address() -> None:
    hosts = fleet()
    text = "no IPoIB netdev, so nothing to configure (is ib_ipoib loaded?): mlx5_0/1"
    own = {host: HostPlan(host, "h100", warnings=[text] if host < "h100-03" else []) for host in hosts}
    directory = _plan_files.write(RunPlan(own))
    for variables in hosts.values():
        variables["rdma_drift_plan"] = {"directory": directory}
    lines = report("drift", hosts, check=True)["text"].splitlines()
    assert f"  h100-[01-02]: {text}" in lines[lines.index("Addresses:") :]
    assert text not in report("drift", hosts)["text"]


def test_nodes_that_cannot_be_compared_are_counted_apart() -> None:
    hosts = fleet()
    for host in ("h100-01", "v100-1"):
        hosts[host]["rdma_drift_result"]["concerns"]["runtime"] = concern(error="runtime: no container runtime found")
        hosts[host]["rdma_drift_result"]["differs"] = True
    view = report("drift", hosts)
    lines = view["text"].splitlines()
    assert lines[0] == "11 of 14 nodes differ from the plan, 2 cannot be compared."
    assert "  runtime  cannot be compared: no container runtime found" in lines
    assert view["blocked"]["v100-1"] == ["runtime: no container runtime found"]


def test_hosts_that_cannot_be_compared_are_named_once() -> None:
    hosts = fleet()
    said = "h100-[01-02]: rdma_links_mtu is 9000\nh100-[01-02]: rdma_links_vfs is 99"
    for host in ("h100-01", "h100-02"):
        hosts[host]["rdma_drift_result"] = {"failed": True, "msg": said}
    hosts["v100-1"]["rdma_drift_result"] = {"failed": True, "msg": "no answer"}
    lines = report("drift", hosts)["text"].splitlines()
    assert lines[lines.index("Not compared, and not to be changed:") + 1 :] == [
        "  h100-[01-02]: rdma_links_mtu is 9000; rdma_links_vfs is 99",
        "  v100-1: no answer",
    ]


def test_one_that_differs_in_another_way_is_told_apart() -> None:
    hosts = fleet()
    hosts["h100-07"]["rdma_drift_result"] = answer(
        links=concern(("mtu", "ib3", 4092, 2044), ("connection", "rdma-rail3", "down", "connected as configured")),
        packages=concern(("package", "perftest", "absent", "present")),
    )
    lines = report("drift", hosts)["text"].splitlines()
    assert "h100: 11 nodes: h100-[01-06,08-12]" in lines
    place = lines.index("h100: 1 node: h100-07")
    assert lines[place + 1 : place + 3] == [
        "  links     mtu ib3 4092 -> 2044; link rdma-rail3 down -> connected as configured",
        "  packages  install perftest",
    ]


def test_errors_that_an_earlier_change_may_cure_stop_nothing() -> None:
    broken = concern(error="hca mlx5_0 does not exist")
    loads = concern(("module", "mlx5_ib", "unloaded", "loaded"))
    hosts = {
        "a-1": {"group_names": ["a"], "rdma_drift_result": answer(kernel=concern(), links=broken)},
        "a-2": {"group_names": ["a"], "rdma_drift_result": answer(kernel=loads, links=broken)},
        "a-3": {"group_names": ["a"], "rdma_drift_result": answer(kernel=loads, runtime=broken)},
    }
    view = report("drift", hosts)
    assert view["blocked"] == {
        "a-1": ["links: hca mlx5_0 does not exist"],
        "a-3": ["runtime: hca mlx5_0 does not exist"],
    }
    assert view["differ"] == ["a-1", "a-2", "a-3"]
    assert "links  cannot be compared: hca mlx5_0 does not exist" in view["text"]


def same(*names: str) -> dict[str, Any]:
    return answer(**{name: concern() for name in names})


@pytest.mark.parametrize(
    ("compared", "said"),
    [
        (["links"], " Only this part was compared: links."),
        (["packages", "kernel"], " Only this part was compared: kernel."),
        (["links", "runtime", "daemons"], " Only these parts were compared: links, runtime."),
        (["packages", "kernel", "links", "runtime", "daemons"], ""),
    ],
)
def test_what_a_tag_has_left_out_is_not_told_as_planned(compared: list[str], said: str) -> None:
    hosts = {f"a-{number}": {"group_names": ["a"], "rdma_drift_result": same(*compared)} for number in (1, 2)}
    assert report("drift", hosts)["text"] == f"2 nodes of 2 compared: as planned.{said}\n"
    other = answer(**{**same(*compared)["concerns"], compared[-1]: concern(("mtu", "ib0", 4092, 2044))})
    hosts["a-2"]["rdma_drift_result"] = other
    assert report("drift", hosts)["text"].splitlines()[0] == f"1 of 2 nodes differs from the plan.{said}"
    # One without a part has nothing else to compare.
    hosts["a-2"]["rdma_drift_result"] = same("kernel", "links", "runtime")
    assert report("drift", hosts)["text"] == "2 nodes of 2 compared: as planned.\n"


def test_nothing_differs() -> None:
    hosts = {"a-1": {"group_names": ["a"], "rdma_drift_result": same("kernel", "links", "runtime")}}
    view = report("drift", hosts)
    assert (view["text"], view["differ"], view["blocked"], view["kinds"]) == (
        "1 node of 1 compared: as planned.\n",
        [],
        {},
        [],
    )


def test_one_that_cannot_be_compared_is_named_and_the_others_are_told() -> None:
    hosts: dict[str, dict[str, Any]] = {
        "a-1": {"group_names": ["a"], "rdma_drift_result": same("kernel", "links", "runtime")},
        "a-2": {"group_names": ["a"], "rdma_drift_result": {"failed": True, "msg": "a-2: no port fits"}},
        "a-3": {"group_names": ["a"], "rdma_drift_result": {"concerns": {"links": {"changed": "no"}}}},
        "a-4": {"group_names": ["a"]},
    }
    view = report("drift", hosts)
    assert (list(view["hosts"]), view["silent"], view["differ"]) == (["a-1"], ["a-4"], [])
    # Every host of the run is in one of them, for those who read the JSON.
    assert list(view["blocked"]) == ["a-2", "a-3"]
    assert view["blocked"]["a-2"] == ["a-2: no port fits"]
    assert view["text"].splitlines() == [
        "1 node of 4 compared: as planned.",
        "",
        "No answer: a-4",
        "",
        "Not compared, and not to be changed:",
        "  a-2: no port fits",
        "  a-3: its comparison cannot be used: concerns.links.changed is 'no', it must be true or false",
    ]
