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
if [ -n "$missing" ]; then
  if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    echo "Installing the Debian packages that the checks need:$missing"
    apt-get -o DPkg::Lock::Timeout=300 update -qq
    # Prometheus is wanted as a command: its package must start no service, now or at the next boot.
    policy=/usr/sbin/policy-rc.d
    if [ -e "$policy" ]; then
      policy=
    else
      trap 'rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod 755 "$policy"
    fi
    # shellcheck disable=SC2086 # one word for each package
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing
    case $missing in *prometheus*) update-rc.d prometheus disable >/dev/null 2>&1 || true ;; esac
    # The shell that ends by becoming another program runs no trap.
    [ -z "$policy" ] || rm -f "$policy"
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
