# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Brings the cluster into line with its part of the plan, by requests to the API server.

In reading order:

* ``api``: one connection, and what is served there. ``cluster.py``: what the cluster has, before anything is planned.
* ``slices``: what DRA drivers publish, awaited and compared with what facts predict.
* ``rights.py``: which rights the steps of a plan need and the user does not have.
* ``carry_out.py``: does the steps of a plan in their order, each by one of the files below.
* ``applyset``: a set of objects. ``rollout``: whether its members work, or are gone.
* ``nodes.py``: labels. ``leaf_labels.py``: those that others may set as well.
* ``counters.py``, ``extended_resources.py``: extended resources in the status of nodes.
* ``object_fields.py``: fields of an object that is not ours alone. ``pools.py``: unused address pools.
* ``restart.py``: pods of a driver that cannot wait for their next start.
* ``unserved.py``: why a host was not served in the end.

It may import :mod:`_plan` and rooms below. Only what is in ``api`` sends requests, and only its ``module`` knows
Ansible.
"""
