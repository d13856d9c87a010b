# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Brings a node into line with its part of the plan: persistent, idempotent, reversible.

The other packages are built on ``node`` and ``ledger``. Each of them is a concern: a part of a node that is compared
and changed on its own. Its ``converge`` does both by the same list of changes, so check mode, ``diff``, ``changed`` and
drift agree.

Files in reading order: ``concerns`` (all of them, compared or changed), ``node`` (files and tools of a node),
``ledger`` (what was changed, and its originals), ``kernel``, ``links``, ``runtime`` (the container runtime, and
images), ``daemons``, ``module`` (the common end of the modules).

May import rooms before it. Concerns import ``node`` and ``ledger``, and not each other; Ansible is in ``module`` only.
"""
