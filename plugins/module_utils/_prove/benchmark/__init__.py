# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""KV-cache transfers between pairs of pods, aligned and not.

Files in reading order: ``plan`` (which pairs), ``log`` (what a pod writes), ``transport`` (whether the intended path
was used), ``runs`` (from logs to runs), ``summary``, ``document``, ``judge``.

May import ``_facts``, ``_strategies``, ``_values``, ``document``, ``bandwidth`` and ``pod``.
"""
