# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The pod ring: pods that ask for devices as workloads do, and what they got.

Files in reading order: ``plan`` (which pods), ``probe`` (one pod), ``probe_run`` (runs them), ``report`` (what a pod
says), ``topo`` (what nvidia-smi says there), ``allocation`` (what it was given), ``verdicts``, ``alignment``,
``netdevs``, ``bandwidth`` (between pods), ``nccl`` (logs of workloads), ``transfers``, ``judge`` (all verdicts).

May import ``_discover``, ``_facts``, ``_strategies``, ``_provision``, ``_values``, ``document``, ``bandwidth``, and
``partitions`` of ``host``.
"""
