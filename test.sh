#!/bin/sh
# Runs every check of the project from nothing: fetches what the checks need, then `bun run check`.
set -eu
cd "$(dirname "$0")"

# Debian packages, each with a command of the same name.
packages="shellcheck curl openssl chromium wrk prometheus nginx caddy"

missing=
for package in $packages; do
  command -v "$package" >/dev/null 2>&1 || missing="$missing $package"
done
# A library for Python is tried too; what installs it is a part of Python and no command of the package's name.
python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
# It checks the unit of the service; systemd itself does not have to run.
command -v systemd-analyze >/dev/null 2>&1 || missing="$missing systemd"
# The tests start a PostgreSQL of their own. Debian keeps its programs out of the PATH.
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null 2>&1 ||
  missing="$missing postgresql"
if [ -n "$missing" ]; then
  if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    echo "Installing the Debian packages that the checks need:$missing"
    apt-get -o DPkg::Lock::Timeout=300 update -qq
    # Programs are wanted and no services: none may start, now or at the next boot, and PostgreSQL's package must make
    # no database of its own.
    policy=/usr/sbin/policy-rc.d
    clusters=/etc/postgresql-common/createcluster.conf
    if [ -e "$policy" ]; then policy=; fi
    if [ -e "$clusters" ]; then clusters=; fi
    undo() {
      [ -z "$policy" ] || rm -f "$policy"
      [ -z "$clusters" ] || rm -f "$clusters"
      # The package keeps the file that it found, and puts its own next to it.
      [ -z "$clusters" ] || [ ! -e "$clusters.ucf-dist" ] || mv "$clusters.ucf-dist" "$clusters"
    }
    trap undo EXIT
    if [ -n "$policy" ]; then
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod 755 "$policy"
    fi
    if [ -n "$clusters" ]; then
      mkdir -p "$(dirname "$clusters")"
      echo "create_main_cluster = false" >"$clusters"
    fi
    # shellcheck disable=SC2086 # one word for each package
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing
    case $missing in *prometheus*) update-rc.d prometheus disable >/dev/null 2>&1 || true ;; esac
    # The shell that ends by becoming another program runs no trap.
    undo
    trap - EXIT
  elif [ "$missing" = " postgresql" ]; then
    echo "There is no PostgreSQL here, so the tests will run on SQLite alone." >&2
  else
    echo "error: the checks need$missing. Install what is missing and run ./test.sh again." >&2
    exit 1
  fi
fi

bun=$(scripts/find-bun.sh)
PATH=$(dirname "$bun"):$PATH
export PATH
bun install --frozen-lockfile
# Silent, so that the last line is the check's own count of what passed.
exec bun run --silent check
