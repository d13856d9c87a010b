# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""probe.sh, which runs for real on the machine of the tests, with a tree for /dev and /sys where it needs hardware."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import bandwidth, report
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan

SCRIPT = Path(__file__).resolve().parents[3] / "roles/rdma_verify/files/probe.sh"


def test_the_script_says_what_it_sees() -> None:
    environment = {"PATH": os.environ["PATH"], "ZEROCOPY_SERVER": "", "ZEROCOPY_PEER": ""}
    done = subprocess.run(["sh", str(SCRIPT)], env=environment, capture_output=True, text=True, check=True)
    found = report.report(done.stdout)
    assert found.complete
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    assert found.memlock == ("unlimited" if soft == resource.RLIM_INFINITY else str(soft))
    assert "lo" in found.netdevs


def test_the_script_waits_for_a_link(tmp_path: Path) -> None:
    """A tree stands in for /dev and /sys, and the link comes up while the script sleeps."""
    device, verbs = tmp_path / "class/infiniband/mlx5_0", tmp_path / "class/infiniband_verbs/uverbs0"
    port = device / "ports/1"
    for directory in (port, verbs, tmp_path / "infiniband", tmp_path / "bin"):
        directory.mkdir(parents=True)
    (tmp_path / "infiniband/uverbs0").touch()
    (verbs / "ibdev").write_text("mlx5_0\n")
    (port / "link_layer").write_text("InfiniBand\n")
    (port / "state").write_text("1: DOWN\n")
    sleep = tmp_path / "bin/sleep"
    sleep.write_text(f"#!/bin/sh\necho '4: ACTIVE' > {port}/state\n")
    sleep.chmod(0o755)
    script = SCRIPT.read_text().replace("/dev/infiniband", f"{tmp_path}/infiniband").replace("/sys/", f"{tmp_path}/")
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "ZEROCOPY_SERVER": "", "ZEROCOPY_PEER": ""}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "mlx5_0 1 InfiniBand 4: ACTIVE" in done.stdout


@pytest.mark.parametrize(
    ("near", "said"),
    [
        # The first CPU that this process may use.
        (str(min(os.sched_getaffinity(0))), f"CPUs {min(os.sched_getaffinity(0))}"),
        # One that no machine of these tests has, as of another NUMA node that the pod may not use.
        ("4095", "not pinned"),
    ],
)
def test_the_script_measures_near_the_device(tmp_path: Path, near: str, said: str) -> None:
    """A tree stands in for /dev and /sys, and a program for ib_write_bw that says where it may run."""
    device, verbs = tmp_path / "class/infiniband/mlx5_0", tmp_path / "class/infiniband_verbs/uverbs0"
    for directory in (device / "ports/1", device / "device", verbs, tmp_path / "infiniband", tmp_path / "bin"):
        directory.mkdir(parents=True)
    (tmp_path / "infiniband/uverbs0").touch()
    (verbs / "ibdev").write_text("mlx5_0\n")
    (device / "ports/1/link_layer").write_text("InfiniBand\n")
    (device / "ports/1/state").write_text("4: ACTIVE\n")
    (device / "device/local_cpulist").write_text(f"{near}\n")
    program = tmp_path / "bin/ib_write_bw"
    program.write_text("#!/bin/sh\nsed -n 's/^Cpus_allowed_list:/CPUs/p' /proc/self/status\n")
    program.chmod(0o755)
    script = SCRIPT.read_text().replace("/dev/infiniband", f"{tmp_path}/infiniband").replace("/sys/", f"{tmp_path}/")
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "ZEROCOPY_SERVER": "1", "ZEROCOPY_PEER": ""}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    (lines,) = [text.replace("\t", " ").splitlines() for text in report.report(done.stdout).bandwidth.values()]
    assert said in lines


def run_script(tree: Path, program: str, **environment: str) -> report.PodReport:
    """The script in a tree with a device whose port is up, and this program for ib_write_bw."""
    device, verbs = tree / "class/infiniband/mlx5_0", tree / "class/infiniband_verbs/uverbs0"
    for directory in (device / "ports/1", verbs, tree / "infiniband", tree / "bin"):
        directory.mkdir(parents=True, exist_ok=True)
    (tree / "infiniband/uverbs0").touch()
    (verbs / "ibdev").write_text("mlx5_0\n")
    (device / "ports/1/link_layer").write_text("InfiniBand\n")
    (device / "ports/1/state").write_text("4: ACTIVE\n")
    path = tree / "bin/ib_write_bw"
    path.write_text(program)
    path.chmod(0o755)
    script = SCRIPT.read_text().replace("/dev/infiniband", f"{tree}/infiniband").replace("/sys/", f"{tree}/")
    own = {"PATH": f"{tree}/bin:{os.environ['PATH']}", "TREE": str(tree), **environment}
    done = subprocess.run(["sh", "-c", script], env=own, capture_output=True, text=True, check=True)
    return report.report(done.stdout)


def test_the_script_tells_partitions(tmp_path: Path) -> None:
    """A table as sysfs has it, most of whose entries are not used."""
    table = tmp_path / "class/infiniband/mlx5_0/ports/1/pkeys"
    table.mkdir(parents=True)
    for index, key in enumerate(["0xffff", "0x0001", "0x0000", "0x0000", "0x8007"]):
        (table / str(index)).write_text(f"{key}\n")
    assert run_script(tmp_path, "").pkeys == {("mlx5_0", 1): ["0x0001", "0x8007", "0xffff"]}


def test_the_script_opens_device_nodes(tmp_path: Path) -> None:
    # A directory cannot be opened for writing, even by root.
    (tmp_path / "infiniband/uverbs9").mkdir(parents=True)
    (tmp_path / "class/infiniband/mlx5_9/ports/1").mkdir(parents=True)
    (tmp_path / "class/infiniband/mlx5_9/ports/1/state").write_text("4: ACTIVE\n")
    (tmp_path / "class/infiniband_verbs/uverbs9").mkdir(parents=True)
    (tmp_path / "class/infiniband_verbs/uverbs9/ibdev").write_text("mlx5_9\n")
    found = run_script(tmp_path, "#!/bin/sh\nexit 1\n")
    assert found.nodes == ["uverbs0", "uverbs9"]
    assert found.opens == ["uverbs0"]
    assert found.loopback == {}


def test_the_script_measures_a_port_to_itself(tmp_path: Path) -> None:
    """The server of this program ends when its client came, and the client fails as long as there is no server."""
    os.mkfifo(tmp_path / "connection")
    program = r"""#!/bin/sh
case $* in
*127.0.0.1)
    [ -e "$TREE/listening" ] || { echo "Couldn't connect to 127.0.0.1"; exit 1; }
    echo client >"$TREE/connection"
    echo ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]'
    echo ' 8388608    17000            0.00               97.5             0.005' ;;
*) : >"$TREE/listening"; read -r who <"$TREE/connection"; echo "served $who" ;;
esac
"""
    found = run_script(tmp_path, program, ZEROCOPY_LOOPBACK="1")
    assert found.complete
    assert found.bandwidth == {}
    (output,) = [*found.loopback.values()]
    meter = bandwidth.PodMeter(
        pod_plan.PlannedPod("a", "default", "n1", group="g", entry="e", alias="e"), found, {}, 0.9
    )
    (measured,) = meter.loopback()
    assert isinstance(measured, verify.Measurement)
    assert (measured.value, measured.source, measured.target) == (97.5, measured.target, measured.source)
    assert "served client" in output


@pytest.mark.parametrize(
    ("own", "has", "lacks"),
    [
        ({}, ["--duration=3", "--size=8388608"], ["--all", "--qp"]),
        ({"ZEROCOPY_QPS": "1", "ZEROCOPY_ALL_SIZES": "", "ZEROCOPY_SIZE": "64"}, ["--size=64"], ["--all", "--qp"]),
        ({"ZEROCOPY_QPS": "2", "ZEROCOPY_ALL_SIZES": "1"}, ["--all", "--qp=2", "--CPU-freq"], ["--duration", "--size"]),
    ],
)
def test_how_the_script_measures(tmp_path: Path, own: dict[str, str], has: list[str], lacks: list[str]) -> None:
    found = run_script(tmp_path, '#!/bin/sh\necho "$@"\n', ZEROCOPY_SERVER="1", **own)
    assert len(found.bandwidth) == 1
    options = "".join(found.bandwidth.values()).split()
    assert set(has) <= set(options)
    assert not [option for option in options if option.partition("=")[0] in lacks]


def _sizes(last: int) -> str:
    head = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
    powers = range(1, last + 1)
    return "\n".join([head, *(f" {2**power} 1000 {power}.5 {power}.0 0.1" for power in powers)])


def test_all_sizes_are_told_and_the_largest_is_judged() -> None:
    found = report.PodReport(bandwidth={}, loopback={("mlx5_0", 1): _sizes(23)})
    pod = pod_plan.PlannedPod("a", "default", "n1", group="g", entry="e", alias="e")
    (measured,) = bandwidth.PodMeter(pod, found, {}, 0.9).loopback()
    assert isinstance(measured, verify.Measurement)
    assert measured.value == 23
    for told in ("(2 B: 1, 4 B: 2,", "64 KiB: 16,", "8 MiB: 23 Gb/s)"):
        assert told in measured.text


@pytest.mark.parametrize("last", [1, 16])
def test_a_client_that_fails_after_some_sizes_has_failed(tmp_path: Path, last: int) -> None:
    """As one whose pod may lock too little memory for large messages."""
    (tmp_path / "sizes").write_text(f"{_sizes(last)}\nCouldn't allocate MR\n")
    program = '#!/bin/sh\ncase $* in *127.0.0.1) cat "$TREE/sizes"; exit 1 ;; *) : ;; esac\n'
    found = run_script(tmp_path, program, ZEROCOPY_LOOPBACK="1", ZEROCOPY_ALL_SIZES="1")
    pod = pod_plan.PlannedPod("a", "default", "n1", group="g", entry="e", alias="e")
    (check,) = bandwidth.PodMeter(pod, found, {}, 0.9).loopback()
    assert isinstance(check, verify.Check)
    assert (check.verdict, check.mend) == ("fail", "runtime")
    assert check.text.endswith("its last message was: Couldn't allocate MR")


def test_the_script_shows_what_nvidia_smi_sees(tmp_path: Path) -> None:
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir(parents=True)
    smi.write_text('#!/bin/sh\necho "$@"\n')
    smi.chmod(0o755)
    assert run_script(tmp_path, "#!/bin/sh\n").topo == "topo -m"


def test_the_script_does_not_wait_for_a_server_that_failed(tmp_path: Path) -> None:
    program = """#!/bin/sh
case $* in *127.0.0.1) echo "Couldn't connect to 127.0.0.1" ;; *) echo "Couldn't allocate MR" ;; esac
exit 1
"""
    found = run_script(tmp_path, program, ZEROCOPY_LOOPBACK="1")
    assert found.complete
    meter = bandwidth.PodMeter(
        pod_plan.PlannedPod("a", "default", "n1", group="g", entry="e", alias="e"), found, {}, 0.9
    )
    (check,) = meter.loopback()
    assert isinstance(check, verify.Check)
    assert (check.verdict, check.mend) == ("fail", "runtime")
    assert check.text.startswith("ib_write_bw with itself failed, its last message was: Couldn't")
