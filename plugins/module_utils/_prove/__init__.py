# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What shows that it works: host, cluster and in-pod checks and measurements, one document, and its reports.

Files in reading order: ``document`` (what is checked and measured), ``bandwidth`` (perftest), ``host`` (checks of a
host and of hosts together), ``cluster``, ``pod``, ``benchmark`` (KV-cache transfers), ``report``, ``health`` (NICs
over time, and what keeps sick ones from new pods), ``monitoring`` (alerts and dashboards), ``support`` (a bundle for a
ticket).

May import rooms before it. Of the packages, each imports from those before it.
"""
