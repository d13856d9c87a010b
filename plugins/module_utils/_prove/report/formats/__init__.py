# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The forms of a report.

Files in reading order: ``html``, ``page`` (what pages have in common), ``drawing`` (topology as SVG), ``summary`` (a
terminal), ``site`` (what a run of the site playbook did), ``cabling``, ``junit``, ``prometheus``.

May import ``report``, ``document``, ``benchmark``, ``_fabric`` and ``_values``.
"""
