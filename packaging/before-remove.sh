#!/bin/sh
# Run by deb and rpm packages before the files go. At an upgrade (deb: "upgrade", rpm: 1) the service stays.
set -eu
case ${1:-} in
upgrade | 1) ;;
*) [ ! -d /run/systemd/system ] || systemctl disable --now --quiet parley ;;
esac
