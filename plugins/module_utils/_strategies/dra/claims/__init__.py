# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What pods claim, from the inventory to the objects.

In reading order: :mod:`planner` (the fleet), :mod:`model`, :mod:`intent` (what variables ask for), :mod:`hosts`,
:mod:`node`; a template: :mod:`templates`, :mod:`layout`, :mod:`selectors`, :mod:`fit`, :mod:`align`; single claims:
:mod:`single`; :mod:`network`, :mod:`objects`. It may import the other packages of ``dra`` and what these may.
"""
