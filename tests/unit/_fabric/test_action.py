# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The action: who is asked, and what is made of what hosts and files say. Facts of recorded (synthesised) nodes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError

from ansible_collections.zerocopy.rdma.plugins.action import cabling
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.iblinkinfo import parse
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts
from ansible_collections.zerocopy.rdma.tests.unit.action_options import acted, play

HOSTS = ("v100-01", "v100-02", "h100-01")
LINE = '{guid} "{host}" 7 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> {leaf} 1 {port}[  ] "{name}" ( )'


ONE = dataclasses.asdict(FabricLink("0x1", "h", 1, "", "4X", "10.0", "0x2", "l", 1))


def fleet(facts_of: Facts, **more: Any) -> dict[str, dict[str, Any]]:
    """Host variables of recorded nodes, each in the group of its name."""
    return {
        host: {
            "inventory_hostname": host,
            "group_names": [host.partition("-")[0]],
            "ansible_facts": {"rdma": facts_of(host)},
            **more,
        }
        for host in HOSTS
    }


def fabric(facts_of: Facts, *swapped: str, name: str = "MF0;leaf-{leaf}:MSB7800/U1") -> str:
    """Rail by rail, but for hosts of which the first two ports are swapped."""
    lines = []
    for number, host in enumerate(HOSTS, 1):
        for index, hca in enumerate(facts_of(host)["hcas"]):
            gids = hca["ports"][0]["gids"]
            if hca["ports"][0]["link_layer"] == "InfiniBand" and gids:
                leaf = 1 - index if host in swapped and index < 2 else index
                guid = "0x" + gids[0]["gid"].replace(":", "")[-16:]
                switch = {"leaf": f"0x{leaf + 160:x}", "name": name.format(leaf=leaf + 1)}
                lines.append(LINE.format(guid=guid, host=f"{host} {hca['name']}", port=number, **switch))
    return "\n".join(lines) + "\n"


def answer(text: str) -> dict[str, Any]:
    links = [dataclasses.asdict(link) for link in parse(text)]
    return {"fabrics": [{"hca": "mlx5_0", "port": 1, "error": "", "links": links}]}


def test_one_host_reads_the_fabric_and_then_the_first_of_each_group_that_is_not_in_it(facts_of: Facts) -> None:
    hosts = fleet(facts_of)
    assert list(acted(cabling, play(hosts), part="first")["ports"]) == ["v100-01"]
    of_v100 = "\n".join(line for line in fabric(facts_of).splitlines() if "v100" in line)
    hosts["v100-01"]["__rdma_cabling_first"] = answer(of_v100)
    assert list(acted(cabling, play(hosts), part="second")["ports"]) == ["h100-01"]
    hosts["v100-01"]["__rdma_cabling_first"] = answer(fabric(facts_of))
    assert acted(cabling, play(hosts), part="second")["ports"] == {}


def test_nobody_reads_what_is_in_a_file_or_is_a_file(facts_of: Facts, tmp_path: Path) -> None:
    path = tmp_path / "fabric.txt"
    path.write_text(fabric(facts_of))
    for part in ("first", "second"):
        assert acted(cabling, play(fleet(facts_of)), part=part, fabric_files=[str(path)])["ports"] == {}
        recorded = acted(cabling, play(fleet(facts_of, rdma_discover_root="/srv/node")), part=part)
        assert (recorded["ports"], recorded["lldp"]) == ({}, [])


def test_hosts_and_files_lead_to_the_same_verdict(facts_of: Facts, tmp_path: Path) -> None:
    text = fabric(facts_of, "v100-02")
    path = tmp_path / "fabric.txt"
    path.write_text(text)
    of_file = acted(cabling, play(fleet(facts_of)), part="check", fabric_files=[str(path)])
    hosts = fleet(facts_of)
    hosts["v100-01"]["__rdma_cabling_first"] = answer(text)
    assert acted(cabling, play(hosts), part="check") == of_file
    # Of two nodes, neither is most of them.
    assert (of_file["failure"], of_file["faults"]) == ("", [])
    assert "no leaf is that of most nodes" in of_file["text"]


def test_files_are_written_in_check_mode_as_well(facts_of: Facts, tmp_path: Path) -> None:
    right, path = tmp_path / "expected.csv", tmp_path / "fabric.txt"
    path.write_text(fabric(facts_of))
    wrote = {"json": "cabling.json", "csv": str(right), "html": "cabling.html"}
    variables = play(fleet(facts_of), ansible_check_mode=True, rdma_artifacts=str(tmp_path))
    found = acted(cabling, variables, part="check", fabric_files=[str(path)], **wrote)
    assert found["paths"] == [str(tmp_path / "cabling.json"), str(right), str(tmp_path / "cabling.html")]
    assert json.loads((tmp_path / "cabling.json").read_text())["version"] == 1
    path.write_text(fabric(facts_of, "v100-02"))
    again = acted(cabling, play(fleet(facts_of)), part="check", fabric_files=[str(path)], expected=str(right))
    assert again["faults"] == ["v100-02 mlx5_0, mlx5_1: swapped: mlx5_0 is on leaf-2/2, mlx5_1 on leaf-1/2"]
    assert again["failure"].startswith("1 cabling fault, as shown above: v100-02")


def test_names_of_switches_steer_no_terminal(facts_of: Facts, tmp_path: Path) -> None:
    path = tmp_path / "fabric.txt"
    path.write_text(fabric(facts_of, name="\x1b[2J=leaf<script>{leaf}"))
    found = acted(cabling, play(fleet(facts_of)), part="check", fabric_files=[str(path)])
    assert "\x1b" not in str(found)
    assert "\\u001b[2J=leaf<script>1" in found["text"]


def test_nothing_seen_is_no_success(facts_of: Facts) -> None:
    found = acted(cabling, play(fleet(facts_of)), part="check")
    assert found["failure"].startswith("No cable was checked")
    assert "no fabric was read" in found["text"]


@pytest.mark.parametrize(
    "links", [[{"guid": 7}], "x", [None], [{"could": [3]}], [{**ONE, "width": "wide"}], [{**ONE, "peer_port": "x"}]]
)
def test_what_no_module_answers_is_told(facts_of: Facts, links: Any) -> None:
    hosts = fleet(facts_of)
    hosts["v100-01"]["__rdma_cabling_first"] = {"fabrics": [{"hca": "m", "port": 1, "error": "", "links": links}]}
    assert "what v100-01 said of its fabric cannot be used" in acted(cabling, play(hosts), part="check")["text"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fabric_files": ["/dev/null"]}, "rdma_cabling_fabric_files has /dev/null, in which there is no link"),
        ({"expected": "/nowhere.csv"}, "rdma_cabling_expected is /nowhere.csv, which is no file with text in it"),
    ],
)
def test_files_that_cannot_be_used_are_refused(facts_of: Facts, options: dict[str, Any], message: str) -> None:
    try:
        found = acted(cabling, play(fleet(facts_of)), part="check", **options)
    except AnsibleError as error:
        found = {"msg": str(error), "failed": True}
    assert found["failed"]
    assert message in found["msg"]


def test_who_has_failed_reads_nothing(facts_of: Facts) -> None:
    """The host that was to read the fabric dies: another one of its group does it."""
    hosts = fleet(facts_of)
    variables = play(hosts, ansible_play_hosts=["v100-02", "h100-01"])
    assert list(acted(cabling, variables, part="first")["ports"]) == ["v100-02"]
    assert list(acted(cabling, variables, part="second")["ports"]) == ["v100-02", "h100-01"]
