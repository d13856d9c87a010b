# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The network in NCCL's log. The fixtures are from public logs; lines in this file are written after NCCL's source."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import nccl
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part

LOGS = Path(__file__).parents[2] / "fixtures/nccl"
EIGHT = ", ".join(f"mlx5_{number}:1/RoCE" for number in range(8))
BONDS = ", ".join(f"mlx5_bond_{number}:1/RoCE" for number in range(8))
# Of each log its verdict, text, and number of communicators.
TOLD = {
    "assigned": ("pass", f"NCCL uses RDMA ({EIGHT})", 1),
    "disabled": ("fail", "NCCL uses TCP (NCCL_IB_DISABLE set by environment to 1)", 1),
    "gib": ("impossible", "NCCL uses gIB, and its log does not say whether that is RDMA", 1),
    "gin": ("pass", "NCCL uses RDMA (mlx5_0:1/IB)", 1),
    "ibext_v8": ("pass", f"NCCL uses RDMA ({EIGHT})", 3),
    "libfabric": ("impossible", "NCCL uses AWS Libfabric, and its log does not say whether that is RDMA", 1),
    "merged": ("pass", "NCCL uses RDMA (mlx5_0:1/RoCE, mlx5_1:1/RoCE, mlx5_2:1/RoCE, mlx5_3:1/RoCE)", 1),
    "no_answer": ("fail", "NCCL cannot use RDMA on hostname-test: 10.87.88.182<55921> does not answer (status 12)", 1),
    "no_device": ("fail", "NCCL uses TCP (No device found)", 1),
    "no_gpudirect": ("fail", "NCCL uses RDMA without GPUDirect (rocep1s0f0)", 1),
    "no_libibverbs": ("fail", "NCCL uses TCP (Failed to open libibverbs)", 1),
    "no_route": (
        "fail",
        "NCCL cannot use RDMA on pod-b: ibv_modify_qp failed with 110 Connection timed out on mlx5_1:1, "
        "from ::ffff:10.0.0.2 to ::ffff:10.0.1.2",
        1,
    ),
    "not_opened": ("fail", "NCCL uses TCP (No device found)", 1),
    "old_provider": (
        "fail",
        "NCCL uses TCP (Driver bnxt_re of the image's libibverbs supports the kernel ABI 1, bnxt_re2 has 6)",
        1,
    ),
    "ran_together": ("pass", f"NCCL uses RDMA ({BONDS})", 2),
    "rccl": ("pass", "NCCL uses RDMA (mlx5_0:1/IB, mlx5_1:1/IB, mlx5_2:1/IB, mlx5_3:1/IB)", 3),
    "rccl_ucx": ("pass", "NCCL uses RDMA (bnxt_re0:1/RoCE)", 1),
    "rccl_socket": ("fail", "NCCL uses TCP (Failed to open libibverbs)", 1),
    "roce": ("pass", "NCCL uses RDMA (mlx5_10:1/RoCE, mlx5_11:1/RoCE)", 2),
    "second_try": ("pass", "NCCL uses RDMA (rocep1s0f0:1/RoCE)", 1),
    "sharp": ("pass", "NCCL uses RDMA (mlx5_0:1/IB, mlx5_1:1/IB, mlx5_4:1/IB, mlx5_5:1/IB)", 3),
    "untold": ("pass", "NCCL uses RDMA (mlx5_0:1/IB)", 1),
}


_DONE = """# Out of bounds values : {wrong}
# Avg bus bandwidth    : 362.104
#
"""


def test_what_nccl_tests_measured() -> None:
    log = (LOGS / "roce.log").read_text()
    found = judged(log + _DONE.format(wrong="0 OK"))
    assert found.verdict == "pass"
    assert found.text.endswith("mlx5_11:1/RoCE), with 362.104 GB/s of bus bandwidth on average")
    for before in (log, ""):
        found = judged(before + _DONE.format(wrong="12 FAILED"))
        assert (found.verdict, found.text) == (
            "fail",
            "llm/decode-0: nccl-tests found 12 wrong values, although NCCL reports no error",
        )


def test_what_nccl_tests_measured_in_an_output_with_tags() -> None:
    """As of ``mpirun --tag-output``."""
    done = "".join(f"[1,0]<stdout>:{line}\n" for line in _DONE.format(wrong="24 FAILED").splitlines())
    assert judged((LOGS / "roce.log").read_text() + done).text.startswith("llm/decode-0: nccl-tests found 24 wrong")
    assert judged((LOGS / "roce.log").read_text() + done.replace("24 FAILED", "0 OK")).text.endswith("on average")


def judged(log: str) -> Check:
    check = nccl.check("llm/decode-0", None, None, log)
    assert check is not None
    assert (check.ring, check.id, check.subject) == ("pod", "pod.nccl", "llm/decode-0")
    return check


def said(*lines: str, host: str = "decode-0", process: int = 7, thread: int = 7) -> str:
    """Lines of one rank, as NCCL 2.21 to 2.28 write them."""
    return "".join(f"{host}:{process}:{thread} [0] NCCL INFO {line}\n" for line in lines)


NIC = "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
IB, SOCKET, PLUGIN = "Using network IB", "Using network Socket", "Using network AINIC"
ETHERNET = "NET/Socket : Using [0]eth0:10.0.0.1<0>"


def test_every_log_is_judged() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == set(TOLD)


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize(
    "before",
    [
        "",
        # As vLLM and Ray, mpirun, and a container's log write them.
        "(EngineCore_DP0 pid=1088) (RayWorkerWrapper pid=285, ip=192.168.177.12) ",
        "\x1b[0;36m(EngineCore pid=77)\x1b[0;0m \x1b[36m",
        "[1,0]<stdout>:worker-0: ",
        "2026-11-20T10:00:00.123456789Z [2026-11-20 10:00:00] ",
    ],
)
def test_public_logs(name: str, before: str) -> None:
    log = "".join(f"{before}{line}\n" for line in (LOGS / f"{name}.log").read_text().splitlines())
    check = judged(log)
    assert (check.verdict, check.text, check.evidence["communicators"]) == (
        TOLD[name][0],
        f"llm/decode-0: {TOLD[name][1]}",
        TOLD[name][2],
    )
    assert bool(check.remedy) == (check.verdict == "fail")


@pytest.mark.parametrize(
    "log",
    [
        "",
        "INFO 11-22 10:00:00 [pynccl.py:63] vLLM is using nccl==2.21.5\n",
        said("Bootstrap : Using eth0:10.0.0.1<0>", "NCCL_IB_HCA set to =mlx5_0:1", "NET/Plugin: Could not find: x"),
        said("Failed to open libibverbs.so[.1]"),
        f"{NIC}\n{IB}\n",
        said(IB)[:-6],
        said(IB).replace("NCCL INFO", "NCCL WARN"),
    ],
)
def test_a_log_that_does_not_say(log: str) -> None:
    assert nccl.check("llm/decode-0", None, None, log) is None


def test_a_pod_without_a_log() -> None:
    assert nccl.check("llm/decode-0", None, None, None) is None


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        ("NET/IB : No device found.", "Request RDMA in the container's resources"),
        ("Failed to open libibverbs.so[.1]", "Install libibverbs1"),
        ("NCCL_IB_DISABLE set by environment to 1.", "Remove NCCL_IB_DISABLE"),
        ("NCCL_NET set by environment to Socket", "Remove NCCL_NET"),
        ("Bootstrap : Using eth0:10.0.0.1<0>", "Request RDMA in the container's resources"),
    ],
)
def test_what_to_do_follows_from_the_reason(why: str, remedy: str) -> None:
    check = judged(said(why, ETHERNET, SOCKET))
    assert check.verdict == "fail"
    assert check.remedy.startswith(remedy)
    assert check.remedy.endswith("With NCCL_NET=IB, NCCL fails instead.")


def test_a_provider_that_does_not_fit_the_kernel_is_updated() -> None:
    assert judged((LOGS / "old_provider.log").read_text()).remedy.startswith("Update rdma-core")
    none = "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs1\n"
    assert judged(none + said("NET/IB : No device found.", ETHERNET, SOCKET)).remedy.startswith("Install ibverbs-prov")
    # In RDMA netns mode shared, libibverbs also speaks of devices that the pod does not have.
    assert judged(none + said(NIC, IB)).verdict == "pass"
    assert judged(none + said("NCCL_IB_DISABLE set by environment to 1", SOCKET)).remedy.startswith("Remove NCCL_IB")


QP = "Call to ibv_modify_qp failed with"
DONE = "NET/IB : Got completion from peer 10.0.0.2<1>"


def warned(line: str, where: str = "misc/ibvwrap.cc:186") -> str:
    return f"\ndecode-0:7:9 [0] {where} NCCL WARN {line}\n"


@pytest.mark.parametrize(
    ("line", "text", "remedy"),
    [
        # As NCCL wrote them before 2.19, and as it does from 2.27 on.
        (f"{QP} error Invalid argument", "ibv_modify_qp failed with error Invalid argument", "Check that both ends"),
        (
            f"{QP} 101 Network is unreachable, on dev usb4_rdma0:1, curr state INIT, next state RTR, local GID "
            "index 2, local GID  fd5a:8000::1, remote GID fd5a:8000::2",
            "ibv_modify_qp failed with 101 Network is unreachable on usb4_rdma0:1, from fd5a:8000::1 to fd5a:8000::2",
            "Check that both ends",
        ),
        ("Call to ibv_create_qp failed", "ibv_create_qp failed", "Raise the runtime's limit"),
        ("Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "ibv_reg_mr_iova2", "Raise the runtime"),
        (f"{DONE} with status=12 opcode=0 len=0 vendor err 129", "10.0.0.2<1> does not answer", "Check that both"),
        (
            "NET/IB: Got completion from peer 10.0.0.2<1> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)",
            "10.0.0.2<1> does not answer (status 12)",
            "Check that both ends",
        ),
        (f"{DONE} with status=5 opcode=0", "a transfer with 10.0.0.2<1> failed (status 5)", "Read the log of the peer"),
        # Before 2.14.
        (f"{DONE} with error 12, opcode 0, len 0, vendor err 129", "10.0.0.2<1> does not answer", "Check that both"),
        (
            "NET/IB : Got completion with error 12, opcode 1, len 32478, vendor err 129",
            "a peer does not answer (status 12)",
            "Check that both ends",
        ),
        # A GID index that the port does not have.
        ("Call to ibv_query_gid failed with error Invalid argument", "ibv_query_gid failed", "Check that both ends"),
        ("Call to ibv_post_send failed with error Cannot allocate memory", "ibv_post_send failed", "Raise the runtime"),
        ("Call to ibv_reg_dmabuf_mr failed with error Bad address", "ibv_reg_dmabuf_mr failed", "Raise the runtime"),
        (
            "NET/IB : mlx5_0:1 Got async event : local catastrophic error",
            "a fatal event of mlx5_0:1",
            "Look for faults",
        ),
        ("NET/IB : mlx5_0:1 Got async event : CQ error", "a fatal event of mlx5_0:1", "Look for faults"),
        ("NET/IB : mlx5_0:1 async fatal event: local catastrophic", "a fatal event of mlx5_0:1", "Look for faults"),
    ],
)
def test_a_connection_that_fails(line: str, text: str, remedy: str) -> None:
    for log in (said(NIC, IB) + warned(line), warned(line)):
        check = judged(log)
        assert (check.verdict, text in check.text) == ("fail", True), check.text
        assert check.remedy.startswith(remedy)


_NO_ROUTE = "socketStartConnect: Connect to 10.0.0.2<41234> failed : No route to host"
_ENDINGS = {
    warned(_NO_ROUTE, "misc/socket.cc:484"): _NO_ROUTE,
    warned("socketPollConnect: connect to 10.0.0.2<1> returned Connection refused, exceeded error retry count"): (
        "socketPollConnect: connect to 10.0.0.2<1> returned Connection refused, exceeded error retry count"
    ),
    "decode-0: Test NCCL failure common.cu:958 'unhandled system error / '\n": (
        "Test NCCL failure common.cu:958 'unhandled system error / '"
    ),
    "[rank0]:[E ProcessGroupNCCL.cpp:632] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n": (
        "Watchdog caught collective operation timeout"
    ),
    "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\n": (
        "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
    ),
    "ncclRemoteError: A call failed possibly due to a network error.\n": "ncclRemoteError",
}


@pytest.mark.parametrize(("line", "text"), _ENDINGS.items())
def test_a_run_that_has_failed_does_not_pass(line: str, text: str) -> None:
    for log in (said(NIC, IB) + line, line, said(NIC, IB) + "".join(f"[1,0]<stderr>:{each}\n" for each in [line])):
        check = judged(log)
        assert (check.verdict, check.text) == ("fail", f"llm/decode-0: NCCL failed: {text}")
        assert check.remedy
    # One that was started again may have passed since.
    check = judged(said(NIC, IB) + line + said(NIC, IB))
    assert (check.verdict, check.text) == ("warn", f"llm/decode-0: NCCL failed, and was set up again since: {text}")


def test_the_first_message_of_a_run_that_has_failed_is_the_cause() -> None:
    check = judged(said(NIC, IB) + "".join(_ENDINGS))
    assert check.text.endswith(_NO_ROUTE)
    assert check.remedy.startswith("Check that the pods reach each other")
    assert "ibv_modify_qp" in judged(said(NIC, IB) + "".join(_ENDINGS) + warned(f"{QP} 110 Connection timed out")).text


def test_what_is_flushed_is_not_the_cause() -> None:
    log = warned(f"{DONE} with status=5 opcode=0") + warned(f"{QP} 110 Connection timed out")
    assert "ibv_modify_qp failed with 110" in judged(log).text


@pytest.mark.parametrize(
    "line",
    [
        said(f"{QP} 110 Connection timed out, on dev mlx5_0:1, retrying 1/34 after 100 msec of sleep"),
        # In RDMA netns mode shared, a container sees devices that it may not open.
        warned("Call to ibv_open_device failed") + warned("NET/IB : Unable to open device mlx5_3"),
        # Programs that end well say so too.
        said("comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Abort COMPLETE"),
        said("socketStartConnect: connect to 10.0.0.2<1> returned Connection refused, retrying (1/34) after sleep"),
        warned("NET/IB : mlx5_0:1 Got async event : GID table change"),
        # The link may come back in time; where it does not, a completion says so.
        warned("NET/IB : mlx5_0:1 Got async event : port error"),
        f"{QP} 110 Connection timed out",
    ],
)
def test_what_does_not_end_a_run(line: str) -> None:
    assert judged(said(NIC, IB) + line).verdict == "pass"


def test_gpudirect_of_one_gpu_is_enough() -> None:
    """Old versions say it of each pair of GPU and HCA; a GPU does not need those that are far away."""
    line = "NET/IB : GPU Direct RDMA {} for GPU {} / HCA {} (distance {})"
    near, far = line.format("Enabled", "1b000", 0, "4 <= 5"), line.format("Disabled", "1b000", 1, "7 > 5")
    assert judged(said(NIC, IB, near, far)).verdict == "pass"
    check = judged(said(NIC, IB, far))
    assert (check.verdict, check.evidence["without_gpudirect"]) == ("fail", ["GPU 1b000"])


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        # A plugin finds devices, but what is taken is another network; and the other way round.
        ([NIC, ETHERNET, SOCKET], "fail"),
        (["NET/IB : No device found.", ETHERNET, NIC, IB], "pass"),
        # The log ends while NCCL starts.
        ([NIC], "pass"),
        ([NIC, ETHERNET], "fail"),
        (["NET/IB : No device found."], "fail"),
        (["NET/IB : No device found.", "NET/IB : Using ; OOB eth0:10.0.0.1<0>"], "fail"),
        # The log was cut before NCCL listed its devices.
        ([IB], "pass"),
        # Later communicators do not list them again.
        ([NIC, IB, IB], "pass"),
        ([NIC, IB, SOCKET], "fail"),
        # A plugin with a name of its own that lists devices.
        (["NET/AINIC : Using [0]ionic_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", PLUGIN], "pass"),
        ([PLUGIN], "impossible"),
        # A list that is broken off, as when another process writes in between.
        (["NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_", IB], "pass"),
    ],
)
def test_what_is_taken_last_counts(lines: list[str], verdict: str) -> None:
    assert judged(said(*lines)).verdict == verdict


def test_devices_are_those_of_the_process() -> None:
    """Of two threads, one lists them; another process, with the same numbers on another host, uses TCP."""
    check = judged(said(NIC) + said(PLUGIN, thread=8) + said(NIC, ETHERNET, SOCKET, host="decode-1"))
    assert check.evidence == {"communicators": 3, "tcp": 1, "devices": ["mlx5_0:1/RoCE"]}
    assert check.text == "llm/decode-0: NCCL uses TCP in 1 of 3 communicators on decode-1"
    log = said(NIC, PLUGIN) + said(PLUGIN, thread=8) + said(PLUGIN, process=8) + said(PLUGIN, host="decode-1")
    assert [one.rdma for one in nccl.read(log)[0]] == [True, True, False, False]


def test_colours_are_no_part_of_a_name() -> None:
    check = judged("\x1b[36m" + said(NIC) + "\x1b[32m" + said(PLUGIN, thread=8) + "\x1b[36m" + said(IB))
    assert (check.verdict, check.evidence["communicators"]) == ("pass", 2)
    assert judged("\x1b[36m" + said(NIC) + "\x1b[32m" + said(PLUGIN)).evidence["communicators"] == 1


def test_within_a_node_no_network_is_used() -> None:
    comm = "comm 0x1095e9d0 rank 1 nRanks 2 nNodes {} localRanks 2 localRank 1 MNNVL 0"
    within = [ETHERNET, SOCKET, comm.format(1)]
    check = judged(said(*within))
    assert (check.verdict, check.remedy) == ("impossible", "")
    assert "its communicators are within one node" in check.text
    assert judged(said(*within, SOCKET, comm.format(2))).evidence["tcp"] == 1
    assert judged(said(*within, SOCKET)).verdict == "fail"
    assert judged(said(*within) + said(NIC, IB, process=8)).verdict == "pass"


def test_a_hostile_log_costs_no_time() -> None:
    started = time.process_time()
    for piece in (
        "a",
        "a:1:1 [0] NCCL INFO ",
        "a:1:1 [0] NCCL INFO NET/IB : Using [0]a:1/IB",
        "[0]a:1/IB,",
        "\x1b[0",
        "a:1:1 [0] a:1 NCCL WARN Call ",
        "a:1:1 [0] a:1 NCCL WARN socketStartConnect: Connect to ",
        "Test NCCL failure ",
    ):
        log = piece * (2_000_000 // len(piece))
        nccl.read(log)
        nccl.failure(log)
        nccl.ended(log)
        nccl.without_gpudirect(log)
    assert time.process_time() - started < 8


def test_the_part_adds_what_nccl_says() -> None:
    pod = {"metadata": {"namespace": "llm", "name": "decode-0"}, "spec": {"nodeName": "h100-01"}}
    hostvars = {"h100-01": {"group_names": ["h100"], "inventory_hostname": "h100-01"}}
    logs = [{"item": [{}, pod], "log": said(ETHERNET, SOCKET)}, {"item": [{}, pod], "log": ""}]
    found = part("transfers", hostvars, logs=logs)
    assert [(one["id"], one["host"], one["group"], one["verdict"]) for one in found["checks"]] == [
        ("pod.transfers", "h100-01", "h100", "impossible"),
        ("pod.nccl", "h100-01", "h100", "fail"),
        ("pod.transfers", "h100-01", "h100", "impossible"),
    ]
