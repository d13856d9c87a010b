# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Attributes of NICs that DRANET does not know and publishes for us: rail, leaf, rate and link layer.

DRANET asks a daemon of ours on each node, by its provider webhook (``pkg/cloudprovider/webhook`` of
kubernetes-sigs/dranet v1.4.0).

In reading order: :mod:`names` (of the attributes), :mod:`devices` (what each NIC of a node gets, by facts and rails),
:mod:`planned` (by the variables of a host), :mod:`daemon_options` (whether a host has the daemon, and as what); the
daemon: :mod:`main` (command line), :mod:`configuration` (its file), :mod:`server`. The daemon runs with the standard
library of Python 3.8. It may import :mod:`_payload`, :mod:`_links`, :mod:`_facts` and :mod:`_values`.
"""
