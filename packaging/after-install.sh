#!/bin/sh
# Run by deb and rpm packages after the files are in place, at an upgrade too.
set -eu
data=/var/lib/parley
if ! id parley >/dev/null 2>&1; then
  useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin parley
fi
[ -d "$data" ] || install -d -m 700 -o parley -g parley "$data"
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable --quiet parley
  # Without a workspace the unit's condition keeps it from starting.
  systemctl restart parley
else
  # What is installed into a folder or an image starts with the machine.
  systemctl enable --quiet parley 2>/dev/null || true
fi
if [ ! -e "$data/parley.db" ]; then
  echo "Create a workspace, then start it:"
  echo "  sudo -u parley parley --data-dir $data init --team NAME --owner NAME"
  echo "  sudo systemctl start parley"
fi
