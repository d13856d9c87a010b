# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What container runtimes have in common: what one answers, and what a plan of its files consists of.

Files in reading order: ``interface`` (layout and answers of a runtime), ``keys`` (settings, the effective configuration
and the plan), ``ownership`` (which files are ours), ``unit_limit`` (the limit of its unit).

May import ``_prepare.node``, ``_prepare.ledger``, ``_values`` and ``toml``; no single runtime.
"""
