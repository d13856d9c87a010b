#!/usr/bin/env bash
# twice.sh TARBALL DIRECTORY: another clone of this commit, in another directory and with another umask, clock and time
# zone, makes the same tarball.
set -euo pipefail
cd "$(dirname "$0")/../.."
tarball=$(realpath "$1")
clone=$(realpath -m "$2")

rm -rf "$clone"
mkdir -p "$(dirname "$clone")"
(
    umask 0077
    git clone --quiet . "$clone"
    find "$clone" -type f -not -path '*/.git/*' -exec touch -d '1999-12-31 23:59:58' {} +
    # Not where the tools look for what belongs to this checkout.
    cd "$clone"
    env -u ANSIBLE_CONFIG TZ=Pacific/Chatham tests/tarball.sh out
)
cmp "$tarball" "$clone/out/$(basename "$tarball")"
