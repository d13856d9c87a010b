#!/usr/bin/env bash
# private.sh COMMAND...: runs it where /etc is a copy of its own and /proc/modules says what it should, so that modules
# which know no other root than / can be timed without touching this machine. Needs root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${ZEROCOPY_PRIVATE:-}" ]; then
    scratch=$(mktemp -d)
    trap 'rmdir "$scratch"' EXIT
    ZEROCOPY_PRIVATE=$scratch unshare --mount --propagation private "$0" "$@"
    exit
fi
scratch=$ZEROCOPY_PRIVATE
mount -t tmpfs zerocopy-bench "$scratch"
mkdir "$scratch"/{upper,work,proc}
mount -t overlay zerocopy-bench -o "lowerdir=/etc,upperdir=$scratch/upper,workdir=$scratch/work" /etc
mkdir -p /etc/{security/limits.d,containerd/conf.d,modules-load.d,modprobe.d,systemd/system/containerd.service.d}
# Not every machine has a /proc/modules to mount over (a sandbox's kernel may know no modules).
mount --rbind /proc "$scratch/proc"
mount -t tmpfs zerocopy-bench /proc
for entry in "$scratch"/proc/[!0-9]*; do ln -s "$entry" /proc/; done
rm -f /proc/modules
printf '%s 16384 0 - Live 0x0000000000000000\n' rdma_cm rdma_ucm ib_uverbs ib_umad >/proc/modules
PATH=$here/stand-ins:$PATH exec "$@"
