# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kernel modules and their options, the RDMA netns mode, and limits of locked memory.

Files in reading order: ``request`` (options, and the files that they mean), ``converge`` (the concern), ``config``
(what else configures modules), ``index`` (modules that exist for a kernel), ``live`` (modules that are loaded),
``netns_mode``, ``limits`` (limits.conf and what overrides it), ``plan`` (what has to be done), ``initramfs``,
``package`` (which package has a module).

May import ``_discover``, ``_prepare.node``, ``_prepare.ledger`` and ``_values``.
"""
