# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a document says to a reader, before it has a form.

Files in reading order: ``findings``, ``causes`` (which follow from others), ``earlier`` (which are new), ``commands``
(what to run), ``drift``, ``preview`` (what a run would write), ``bandwidth``, ``rails``, ``transfers`` (figures of the
benchmark), ``most`` (how much of it of one host), ``fleet``, ``topology``, ``text`` (how values look), ``formats``
(HTML, JUnit, metrics, terminal).

May import ``_facts``, ``_values``, ``document`` and ``benchmark``.
"""
