#!/bin/sh
# Run by deb and rpm packages after the files are gone. The data stays, whatever was asked for.
set -eu
case ${1:-} in
upgrade | 1) ;;
*)
  [ ! -d /run/systemd/system ] || systemctl daemon-reload
  [ ! -e /var/lib/parley ] || echo "The data is still in /var/lib/parley; remove it yourself if you want to lose it."
  ;;
esac
