# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Faults of HCAs in kernel logs (synthesised): the warnings of facts, and the verdicts of verify."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any, Callable
from unittest import mock

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather, kernel_log
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import facts as host_facts
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import node

KMSG = Path(__file__).resolve().parents[1] / "fixtures" / "kmsg"
BOOT = 1_790_000_000
Root = Callable[[str], Path]


def logged(root_of: Root, tmp_path: Path, name: str, log: str) -> Path:
    """The root of a node with that kernel log."""
    root = tmp_path / "node"
    shutil.copytree(root_of(name), root, symlinks=True)
    (root / "dev").mkdir(exist_ok=True)
    (root / "dev/kmsg").write_text(log)
    (root / "proc/stat").write_text(f"cpu  1 2 3\nbtime {BOOT}\nprocesses 4\n")
    return root


def checks_of(facts: dict[str, Any]) -> list[Any]:
    return [check for check in host_facts.of_node(node(facts)) if check.id == "host.kernel_log"]


def heard(facts: dict[str, Any]) -> dict[tuple[str, str], tuple[str, int, bool]]:
    """By subject and code, the verdict, the number of messages, and whether it is over."""
    verdicts = {(check.subject, check.evidence["code"]): check.verdict for check in checks_of(facts)}
    return {
        (entry["subject"], entry["code"]): (
            verdicts[entry["subject"], entry["code"]],
            entry["fields"]["count"],
            "recovered" in entry["fields"],
        )
        for entry in facts["warnings"]
        if "message" in entry["fields"]
    }


def test_faults_that_mlx5_reports(root_of: Root, tmp_path: Path) -> None:
    facts = gather.gather(str(logged(root_of, tmp_path, "a100-01", (KMSG / "mlx5.kmsg").read_text())))
    assert heard(facts) == {
        ("mlx5_1", "slot_power"): ("warn", 1, False),
        ("mlx5_0", "hca_unhealthy"): ("warn", 2, True),
        ("mlx5_0", "command_timeout"): ("fail", 2, False),
        ("mlx5_0", "hca_temperature"): ("warn", 1, False),
        ("mlx5_0", "transmit_timeout"): ("warn", 2, False),
        ("mlx5_1", "module_error"): ("warn", 1, True),
        # The driver tried, and failed.
        ("mlx5_1", "hca_unhealthy"): ("fail", 2, False),
        ("0000:62:00.1", "pcie_fatal"): ("fail", 1, False),
        ("0000:62:00.1", "pcie_error"): ("warn", 1, False),
    }
    assert all(check.remedy and check.text.startswith(check.subject) for check in checks_of(facts))
    assert facts["sources"]["kernel_log"] == "kmsg"


def test_faults_that_bnxt_reports(root_of: Root, tmp_path: Path) -> None:
    facts = gather.gather(str(logged(root_of, tmp_path, "case-mi300x", (KMSG / "bnxt.kmsg").read_text())))
    assert heard(facts) == {
        ("bnxt_re0", "firmware_reset"): ("warn", 2, False),
        ("bnxt_re1", "hca_unhealthy"): ("fail", 1, False),
        ("bnxt_re2", "command_timeout"): ("warn", 1, True),
    }


@pytest.mark.parametrize(
    ("messages", "over"),
    [(["FW heartbeat stalled at 7"], False), (["FW heartbeat stalled at 7", "FW heartbeat restored at 8"], True)],
)
def test_the_heartbeat_of_ionic(tmp_path: Path, messages: list[str], over: bool) -> None:
    (tmp_path / "dev").mkdir()
    lines = [f"6,{at},{at}000000,-;ionic 0000:24:00.0: {message}\n" for at, message in enumerate(messages)]
    (tmp_path / "dev/kmsg").write_text("".join(lines))
    (found,) = kernel_log.warnings(Tree(str(tmp_path)), {"0000:24:00.0": "ionic_0"}) or []
    assert (found.code, found.subject, "recovered" in found.fields) == ("hca_unhealthy", "ionic_0", over)
    # There is no time of boot.
    assert found.fields["first"] == "0 s after boot"


FATAL = "PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)"
VERSION = "firmware version: 28.39.1002"
NO_ANSWER = "wait_fw_init:203:(pid 77): Firmware over 120000 MS in pre-initializing state, aborting"
RESUME = "mlx5_pci_resume Device state = 2 health sensors: 1 pci_status: 2. "
RATES = "Rate limit: 127 rates are supported, range: 0Mbps to 97656Mbps"
NETDEV = "MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 basic)"


@pytest.mark.parametrize(
    ("messages", "over"),
    [
        # The driver tells the version of the firmware, and only then waits for it (main.c, mlx5_function_enable).
        ([VERSION], {"pcie_fatal": False}),
        ([RESUME + "Enter, loading driver..", "firmware version: 65535.65535.65535"], {"pcie_fatal": False}),
        ([VERSION, NO_ANSWER], {"pcie_fatal": False, "hca_unhealthy": False}),
        (
            [VERSION, f"{NO_ANSWER.replace('pre-init', 'init')}", f"{RESUME}Done, err = -110, device Failed"],
            {"pcie_fatal": False, "hca_unhealthy": False},
        ),
        (
            ["mlx5_pci_slot_reset:2291:(pid 77): mlx5_pci_slot_reset: wait vital failed with error code: -110"],
            {"pcie_fatal": False, "hca_unhealthy": False},
        ),
        (
            ["mlx5_pci_slot_reset:1590:(pid 77): mlx5_pci_slot_reset: wait_vital timed out"],
            {"pcie_fatal": False, "hca_unhealthy": False},
        ),
        # The firmware has initialised the function, but the driver could not use it.
        (
            [VERSION, RATES, "probe_one:1591:(pid 9): mlx5_init_one failed with error code -16"],
            {"pcie_fatal": True, "hca_unhealthy": False},
        ),
        (
            ["init_one:1365:(pid 9): mlx5_load_one failed with error code -110"],
            {"pcie_fatal": False, "hca_unhealthy": False},
        ),
        ([VERSION, f"{RESUME}Done, err = 0, device recovered"], {"pcie_fatal": True}),
        # As older kernels write it.
        ([VERSION, "mlx5_pci_resume: device recovered"], {"pcie_fatal": True}),
        # The driver was loaded again: InfiniBand, and Ethernet.
        ([NO_ANSWER, VERSION, RATES], {"pcie_fatal": True, "hca_unhealthy": True}),
        ([NO_ANSWER, VERSION, NETDEV], {"pcie_fatal": True, "hca_unhealthy": True}),
    ],
)
def test_only_what_mlx5_says_after_its_start_ends_a_fault(
    tmp_path: Path, messages: list[str], over: dict[str, bool]
) -> None:
    (tmp_path / "dev").mkdir()
    lines = [f"6,{at},{at}000000,-;mlx5_core 0000:24:00.0: {said}\n" for at, said in enumerate([FATAL, *messages])]
    (tmp_path / "dev/kmsg").write_text("".join(lines))
    found = kernel_log.warnings(Tree(str(tmp_path)), {"0000:24:00.0": "mlx5_0"}) or []
    assert {entry.code: "recovered" in entry.fields for entry in found} == over


REFUSED = (
    "mlx5_cmd_out_err:838:(pid 9): ACCESS_REG(0x805) op_mod(0x1) failed, status bad parameter(0x3), syndrome (0x3)"
)


@pytest.mark.parametrize(
    ("message", "heard"),
    [
        # As Linux 5.19 and newer, and as older ones write it.
        (f"mlx5_core 0000:05:00.0: {REFUSED}, err(-22)", ("register_access", "mlx5_0")),
        (
            "mlx5_core 0000:05:00.0: mlx5_cmd_check:810:(pid 1): ACCESS_REG(0x805) op_mod(0x0) failed, status bad",
            ("register_access", "mlx5_0"),
        ),
        (
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
            ("peermem_error", "nvidia_peermem"),
        ),
        ("nvidia-peermem loaded", None),
        # Of processes whose names and files an unprivileged user has chosen.
        ("x 0000:05:00.0[21078]: segfault at 0 ip 0 sp 0 error 4 in x has Cold reset is required: synd 0x8[1+1]", None),
        ("x 0000:05:00.0:[21078]: segfault at 0 ip 0 sp 0 error 4 in Cold reset is required: synd 0x8[1+1]", None),
        ("traps: 0000:05:00.0:[21078] trap invalid opcode ip:0 sp:0 error:0 in Cold reset is required[1+1]", None),
        ("traps: mlx5_core 0000:[21078] trap invalid opcode ip:0 sp:0 error:0 in Cold reset is required[1+1]", None),
        ("nvidia-peermem [21078]: segfault at 0 ip 0 sp 0 error 4 in ERROR[401000+1000]", None),
        ("nv_peer_mem a:1[21078]: segfault at 0 ip 0 sp 0 error 4 in ERROR[401000+1000]", None),
        ("nvidia-peermem:[21078]: unhandled exception: SP Alignment, ESR 0x0, in ERROR[401000+1000]", None),
        ("nvidia-peermem invoked oom-killer: gfp_mask=0x0(ERROR), order=0, oom_score_adj=1000", None),
        ('audit: type=1701 audit(1.1:2): comm="mlx5_core" exe="/x 0000:05:00.0: Cold reset is required"', None),
    ],
)
def test_what_the_kernel_says_and_what_others_make_it_say(
    tmp_path: Path, message: str, heard: tuple[str, str] | None
) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text(f"4,1,1000000,-;{message}\n4,2,2000000,-;{message}\n")
    found = kernel_log.warnings(Tree(str(tmp_path)), {"0000:05:00.0": "mlx5_0"}) or []
    assert [(entry.code, entry.subject, entry.fields["count"]) for entry in found] == ([(*heard, 2)] if heard else [])


def test_only_the_driver_says_that_an_hca_failed(tmp_path: Path) -> None:
    """Two lines of a local user, who chose name and file of a process, before that of the driver."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text((KMSG / "local-user.kmsg").read_text())
    (found,) = kernel_log.warnings(Tree(str(tmp_path)), {"0000:66:00.0": "mlx5_0"}) or []
    assert (found.code, found.subject, found.fields["count"]) == ("hca_unhealthy", "mlx5_0", 1)
    assert str(found.fields["message"]).startswith("mlx5_core 0000:66:00.0: health_care")
    # A user cannot say that it is over, either.
    with (tmp_path / "dev/kmsg").open("a") as log:
        log.write("4,1204,5000003,-;x 0000:66:00.0 [9]: segfault at 0 error 4 in health recovery succeeded[1+1]\n")
    (found,) = kernel_log.warnings(Tree(str(tmp_path)), {"0000:66:00.0": "mlx5_0"}) or []
    assert "recovered" not in found.fields


def test_when_and_how_often(root_of: Root, tmp_path: Path) -> None:
    facts = gather.gather(str(logged(root_of, tmp_path, "a100-01", (KMSG / "mlx5.kmsg").read_text())))
    texts = {check.evidence["code"]: check.text for check in checks_of(facts) if check.subject == "mlx5_0"}
    assert texts["command_timeout"] == (
        "mlx5_0: the kernel said 'mlx5_core 0000:05:00.0: wait_func:1156:(pid 4711): cmd[1]: QUERY_VPORT_COUNTER(0x770)"
        " timeout. Will cause a leak of a command resource' (2 such messages, the first at 2026-09-21T14:16:40Z, the"
        " last at 2026-09-21T14:17:40Z)"
    )
    assert texts["hca_temperature"].endswith("with bit set 0x0 0x1' (at 2026-09-21T14:18:20Z)")
    assert texts["hca_unhealthy"].endswith("; over since 2026-09-21T14:15:10Z)")


def test_a_log_without_faults_passes(root_of: Root, tmp_path: Path) -> None:
    root = logged(root_of, tmp_path, "a100-01", "5,0,0,-;Linux version 6.8.0-60-generic\n")
    (check,) = checks_of(gather.gather(str(root)))
    assert (check.verdict, check.text) == ("pass", "no message of the kernel about a fault of an HCA")
    options = gather.GatherOptions(subsets=gather.subsets(["!kernel_log"]))
    assert checks_of(gather.gather(str(root), options)) == []


def test_without_hardware_the_log_is_not_read(root_of: Root, tmp_path: Path) -> None:
    root = logged(root_of, tmp_path, "case-soft-roce", (KMSG / "mlx5.kmsg").read_text())
    with mock.patch.object(kernel_log, "KernelLog", side_effect=AssertionError):
        facts = gather.gather(str(root))
    assert (checks_of(facts), "kernel_log" in facts["sources"]) == ([], False)


def test_a_log_that_may_not_be_read_is_not_judged(root_of: Root, tmp_path: Path) -> None:
    root = logged(root_of, tmp_path, "a100-01", (KMSG / "mlx5.kmsg").read_text())
    real = os.open

    def refuses(path: str, *more: Any, **named: Any) -> int:
        """What the kernel does with its log, whatever the file's mode; root may read every file of this tree."""
        if str(path).endswith("/dev/kmsg"):
            raise OSError(errno.EPERM, "Operation not permitted")
        return real(path, *more, **named)

    with mock.patch.object(os, "open", refuses):
        facts = gather.gather(str(root))
    assert facts["unreadable"] == ["/dev/kmsg"]
    (check,) = checks_of(facts)
    assert (check.verdict, check.remedy) == ("impossible", "Run verify as root.")
    assert check.text.endswith("this user may not read /dev/kmsg")


@pytest.mark.parametrize("kind", ["absent", "empty", "elsewhere", "directory"])
def test_what_is_no_kernel_log_is_not_judged(root_of: Root, tmp_path: Path, kind: str) -> None:
    root = logged(root_of, tmp_path, "a100-01", "")
    log = root / "dev/kmsg"
    if kind != "empty":
        log.unlink()
    if kind == "elsewhere":
        # What is not below the root is not the node's.
        log.symlink_to(KMSG / "mlx5.kmsg")
    if kind == "directory":
        log.mkdir()
    facts = gather.gather(str(root))
    assert (checks_of(facts), "kernel_log" in facts["sources"]) == ([], False)
    told = [entry["subject"] for entry in facts["warnings"] if entry["code"] == "unreadable"]
    assert told == (["/dev/kmsg"] if kind == "directory" else [])


def test_the_page_has_every_kind_with_where_the_kernel_says_it() -> None:
    page = (KMSG.parents[3] / "docs/monitoring.md").read_text("utf-8")
    table = page[page.index("| `kind` | what it says |") :].split("\n\n", 1)[0].splitlines()[2:]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    assert [(row[0].strip("`"), tuple(row[2].strip("`").split("`, `"))) for row in rows] == [
        (rule.code, rule.sources) for rule in kernel_log.RULES
    ]
