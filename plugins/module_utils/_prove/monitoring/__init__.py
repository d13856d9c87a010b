# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Alerting rules of Prometheus and dashboards of Grafana, from the texts and thresholds of the checks of hosts.

An alert about a port or an HCA is a check of verify that the exporter's metrics can decide: it has the check's
condition, sentence and remedy from where verify has them, so that both say the same of the same fault.

Files in reading order: ``templates`` (numbers of a sentence that Prometheus fills in), ``series`` (metrics and how they
are joined), ``alert`` (what an alert has), ``links`` (ports and PCIe links), ``faults`` (error counters and the
kernel's log), ``runs`` (the exporter, health and verify themselves), ``rules`` (the files for Prometheus),
``dashboard`` (Grafana's panels), ``fleet`` and ``node`` (the two dashboards).

May import rooms up to ``_plan``, ``document``, ``host``, ``report`` and ``health``.
"""
