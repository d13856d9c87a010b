# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The documents of verify and of the benchmark, from which their JSON schemas are made.

Files in reading order: ``verify`` (checks, measurements, the document), ``rails`` (evidence of a check), ``benchmark``,
``remedies`` (which run of the site playbook mends what), ``schema``.

May import ``_facts``.
"""
