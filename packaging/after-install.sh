#!/bin/sh
# Run by deb and rpm packages after the files are in place, at an upgrade too.
set -eu
# At an upgrade deb gives the version of before as the second argument, rpm a count of 2.
[ "${1:-}" = configure ] && [ -n "${2:-}" ] || [ "${1:-}" = 2 ] && is_upgrade=yes || is_upgrade=
data=/var/lib/parley
if ! id parley >/dev/null 2>&1; then
  useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin parley
fi
[ -d "$data" ] || install -d -m 700 -o parley -g parley "$data"
[ ! -d /run/systemd/system ] || systemctl daemon-reload
if [ -n "$is_upgrade" ]; then
  # Somebody may have stopped or disabled the service: it stays so.
  [ ! -d /run/systemd/system ] || systemctl try-restart parley
  [ "$(systemctl is-enabled parley 2>/dev/null)" = enabled ] ||
    echo "The service does not start with the machine. To change that: sudo systemctl enable --now parley"
else
  # Also what is installed into a folder or an image starts with the machine.
  systemctl enable --quiet parley 2>/dev/null || true
  # Without a workspace the unit's condition keeps it from starting.
  [ ! -d /run/systemd/system ] || systemctl start parley
fi
if [ ! -e "$data/parley.db" ]; then
  echo "Create a workspace, then start it:"
  echo "  sudo -u parley parley --data-dir $data init --team NAME --owner NAME"
  echo "  sudo systemctl start parley"
fi
