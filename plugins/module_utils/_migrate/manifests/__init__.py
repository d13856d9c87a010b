# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Manifest files that request RDMA as a group's strategy has it.

In reading order:

* ``files.py``: files are read, rewritten together and written. The module of this room begins here.
* ``disk.py``: which files, and how these are read and written where others may write, too.
* ``rewrite.py``: all objects of the files, one by one, and what was not done to them.
* ``need.py``: what a pod template asks for.
* ``claimed.py``: the GPUs that it has by claims.
* ``choice.py``: which request of the group a pod template gets.
* ``pod_template.py``: what changes in a pod template, and what keeps it from being changed.
* ``required.py``: NRI plugins without which a pod does not start.
* ``ports.py``: twins that had ports of their own on the host's network get one port, with Services and pools.
* ``unread.py``: signs of RDMA in documents that are not rewritten, so that none is passed over in silence.
* ``builds.py``: objects of Flux and Argo CD that patch what is built of a directory, as a kustomization does.
* ``kustomize.py``: patches of kustomizations, and what stays as it is because of them.
* ``revert.py``: the JSON Patch in an annotation that undoes it.
* ``undone.py``: what this may change, whoever wrote the annotation.

It may import :mod:`_migrate` and what that may.
"""
