# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The matrix of paths between GPUs and HCAs, of recorded nodes."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import fleet, fleet_text, paths

Facts = Callable[..., dict[str, Any]]
TITLE = "Paths between GPUs and HCAs:"


def view(facts_of: Facts, *names: str, detail: str = "full") -> str:
    nodes = [fleet.FleetNode(name, name.rpartition("-")[0], read.facts(facts_of(name))) for name in names]
    return fleet_text.text(fleet.fleet(nodes), detail)


def test_one_matrix_for_each_shape_and_a_legend(facts_of: Facts) -> None:
    text = view(facts_of, "v100-01", "v100-02", "h100-03")
    matrices = text.partition(f"\n\n{TITLE}\n")[2].partition("\n\nWarnings:")[0]
    assert (
        matrices.rstrip()
        == """\
  shape 158382d6c127 (h100-03):
          mlx5_0  mlx5_1  mlx5_2  mlx5_3  NUMA
    GPU0  PHB     PHB     SYS     SYS     0
    GPU1  PHB     PHB     SYS     SYS     0
    GPU2  PHB     PHB     SYS     SYS     0
    GPU3  PHB     PHB     SYS     SYS     0
    GPU4  SYS     SYS     PHB     PHB     1
    GPU5  SYS     SYS     PHB     PHB     1
    GPU6  SYS     SYS     PHB     PHB     1
    GPU7  SYS     SYS     PHB     PHB     1
  shape 1eab49e52ba9 (v100-01, 1 more node alike):
          mlx5_0  mlx5_1  NUMA
    GPU0  PIX     SYS     0
    GPU1  PIX     SYS     0
    GPU2  SYS     PIX     1
    GPU3  SYS     PIX     1

  SYS   = the link between two NUMA nodes
  NODE  = another root complex of the same NUMA node
  PHB   = the same PCIe root complex, in the CPU
  PXB   = several PCIe switches, but not the CPU
  PIX   = at most one PCIe switch"""
    )


def test_only_with_full_detail(facts_of: Facts) -> None:
    for detail in ("auto", "summary"):
        assert TITLE not in view(facts_of, "v100-01", detail=detail)


def test_none_without_gpus_or_hcas(facts_of: Facts) -> None:
    assert TITLE not in view(facts_of, "case-nothing", "case-soft-roce")


def test_vfs_are_where_their_pf_is(facts_of: Facts) -> None:
    facts = read.facts(facts_of("case-vf"))
    vfs = {hca.name for hca in facts.hcas if hca.sriov.role == "vf"}
    (gpu,) = facts.affinity
    assert vfs < set(gpu.paths)
    (shown,) = paths.of_node(facts)
    assert list(shown.paths) == [name for name in gpu.paths if name not in vfs] != []


def test_a_gpu_that_does_not_say_where_it_is() -> None:
    gpus = [paths.GpuPaths(0, None, {"mlx5_0": "SYS"}), paths.GpuPaths(1, 1, {"mlx5_0": "NODE"})]
    assert paths.matrix(gpus) == ["      mlx5_0  NUMA", "GPU0  SYS     -", "GPU1  NODE    1"]
