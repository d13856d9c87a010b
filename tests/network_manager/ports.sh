#!/bin/sh
# ports.sh COMMAND...: in this mount namespace, veths that are NICs of the machine are below PCI functions, as ports are.
set -e
mkdir -p /run/sys
mount --bind /sys/devices /run/sys
mount -t tmpfs devices /sys/devices
mount -t tmpfs class /sys/class/net
for entry in /run/sys/*; do
    mkdir "/sys/devices/${entry##*/}"
    mount --bind "$entry" "/sys/devices/${entry##*/}"
done
for entry in /run/sys/virtual/net/*; do
    name=${entry##*/} mac=$(cat "$entry/address")
    place=virtual/net/$name
    case $mac in
        b8:59:9f:*)
            number=${mac##*:}
            place=pci0001:00/0001:$number:00.0/net/$name
            mkdir -p "/sys/devices/$place"
            mount --bind "$entry" "/sys/devices/$place"
            ;;
    esac
    ln -s "../../devices/$place" "/sys/class/net/$name"
done
umount /run/sys
exec "$@"
