# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Bandwidth and latency between two ports, by perftest.

Files in reading order: ``perftest_run`` (on a node), ``perftest_parse`` (what it printed), ``threshold`` (what a port
should reach).

May import ``_facts`` and ``_prepare.node``.
"""
