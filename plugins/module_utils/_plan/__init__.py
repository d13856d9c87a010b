# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of a run: what each node and the cluster should have, by inventory, facts and what the cluster answered.

In reading order: :mod:`preflight` (what is wrong with an inventory), :mod:`node_options` (what a node should have),
:mod:`daemons` (of these, programs of ours), :mod:`document` (the plan of each host, as it is written for later tasks),
:mod:`steps` (what can be done in a cluster), :mod:`cluster_plan` (which of these steps a fleet needs),
:mod:`leaf_labels` (which ones schedulers need), :mod:`changes` (what a second plan of a run wants otherwise),
:mod:`questions` (which questions that lead to a strategy facts answer), :mod:`paths` (between GPUs and HCAs),
:mod:`fleet` (an overview), :mod:`fleet_text`. It may import :mod:`_strategies` and rooms below.
"""
