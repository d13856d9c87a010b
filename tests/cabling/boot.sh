#!/bin/sh
# boot.sh ROOT COLLECTION SCRIPT: runs a script of this directory in the namespaces that `unshare` made, with Debian's
# files below an overlay. What it writes goes with it.
set -e
lower=$1 collection=$2 script=$3 here=$(dirname "$(realpath "$0")")
mount -t tmpfs machine /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay machine -o "lowerdir=$lower,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs run run
mount -t tmpfs dev dev
for node in null:3 zero:5 random:8 urandom:9; do mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"; done
mkdir -p srv/collections/ansible_collections/zerocopy/rdma srv/machine etc run/lldpd tmp
mount --bind "$collection" srv/collections/ansible_collections/zerocopy/rdma
mount --bind "$here" srv/machine
printf 'root:x:0:0::/root:/bin/sh\n_lldpd:x:100:100::/run/lldpd:/bin/false\n' >etc/passwd
printf 'root:x:0:\n_lldpd:x:100:\n' >etc/group
chown 100:100 run/lldpd
export PYTHONPATH=/srv/collections PYTHONDONTWRITEBYTECODE=1
exec chroot . python3 "/srv/machine/$script"
