# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Nodes that change their strategy, one wave after another.

In reading order:

* ``use.py``: what a node is at the moment: labels, cordon, resources, and the pods that use its NICs.
* ``moves.py``: which nodes move in which wave, and what is in the way.
* ``look.py``: reads nodes from the API server. ``drain.py``: ends the pods that use NICs. ``steps.py``: the steps of a
  move.
* ``ofed_rollout.py``: the same for the OFED driver of an operator. ``ofed_probe.py``: what a node says before it.

It may import :mod:`_migrate` and what that may.
"""
