# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Daemons on a node: those of this collection, each a program that systemd runs, and lldpd.

Files in reading order: ``daemon`` (what one is), ``program`` (what all have in common), ``inject`` (the daemon of the
strategy ``inject``), ``exporter`` (that of metrics), ``attributes`` (that of DRANET's attributes), ``lldpd`` (the
distribution's), ``every`` (those that there are), ``absent`` (one that a node shall not have), ``converge`` (installs,
changes and removes one of ours), ``service`` (the running one).

May import ``_discover``, ``_exporter``, ``_strategies.inject.daemon``, ``_strategies.dra.attributes``,
``_prepare.node``, ``_prepare.ledger`` and ``_values``.
"""
