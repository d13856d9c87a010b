# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a migration has to deal with in a cluster.

In reading order:

* ``read.py``: lists what the audit needs, once. The module of the audit begins here.
* ``cluster.py``: nodes, plugins, operators, health checks, and the advice about them.
* ``evaluate.py``: all findings, by workload and of the cluster.
* ``document.py``: the result as JSON, and read back. ``report.py``: for a terminal. ``page.py``: for a browser.

It may import :mod:`_migrate` and what that may.
"""
