#!/bin/sh
# Installs parley: from a release, or built from this clone. See ./install.sh --help.
set -eu

usage() {
  cat <<'TEXT'
Usage: ./install.sh [--from FOLDER|URL] [--prefix DIR] [--service]
       ./install.sh --uninstall [--prefix DIR]

Installs parley as DIR/bin/parley, and nothing that does not match the SHA-256
that the release names. Run it again to upgrade: the data stays as it is. A
running parley is not disturbed; with --service it is restarted.

  --from WHERE   the release: its folder, or the URL where its files are.
                 Without it, parley is built from this clone, with Bun 1.4.5 or
                 newer from the PATH or fetched with npm or curl into .bun/
  --prefix DIR   where to install; created if missing (default: ~/.local, or
                 /usr/local for a service)
  --service      run parley under systemd as the user parley, with its data in
                 /var/lib/parley; needs root
  --uninstall    stop the service and remove it and the binary; the data stays
  --help         print this help

With DESTDIR in the environment, all of it goes below that folder, as packagers
need it: nothing is started, and no user is created.
TEXT
}

# Prints the problem and what to do about it, and exits with status "$1".
fail() {
  printf 'error: %s\n       %s\n' "$2" "$3" >&2
  exit "$1"
}

has() {
  command -v "$1" >/dev/null 2>&1
}

prefix=
from=
service=
uninstall=
while [ $# -gt 0 ]; do
  case $1 in
  --prefix)
    [ -n "${2:-}" ] || fail 2 "--prefix needs a folder." "Give one: ./install.sh --prefix ~/.local"
    prefix=$2
    shift
    ;;
  --prefix=?*) prefix=${1#--prefix=} ;;
  --from)
    [ -n "${2:-}" ] || fail 2 "--from needs a folder or a URL." "Give the one that has the release's SHA256SUMS."
    from=$2
    shift
    ;;
  --from=?*) from=${1#--from=} ;;
  --service) service=yes ;;
  --uninstall) uninstall=yes ;;
  --help | -h)
    usage
    exit
    ;;
  *) fail 2 "unknown option: $1" "./install.sh --help lists the options." ;;
  esac
  shift
done

dest=${DESTDIR:-}
units=/etc/systemd/system
unit=$units/parley.service
data=/var/lib/parley

# The folder of the binary that the installed unit starts; empty without one.
service_bin() {
  [ ! -f "$dest$unit" ] || sed -n 's|^ExecStart=\(/.*\)/parley serve$|\1|p' "$dest$unit"
}

# Stops with an error unless systemd can be told what to do, or does not need to be.
require_systemd() {
  [ -z "$dest" ] || return 0
  [ -d /run/systemd/system ] ||
    fail 1 "systemd does not run here." "Install without --service, and start \"parley serve\" your own way."
  [ "$(id -u)" -eq 0 ] || fail 1 "A service needs root." "Run it again with sudo."
}

if [ -n "$uninstall" ]; then
  [ -z "$from$service" ] || fail 2 "--uninstall goes with --prefix only." "./install.sh --help shows how."
  bin=${prefix:+$prefix/bin}
  [ -n "$bin" ] || bin=$(service_bin)
  bin=${bin:-${HOME:?}/.local/bin}
  kept=${PARLEY_DATA_DIR:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/parley}
  removed=
  if [ "$(service_bin)" = "$bin" ]; then
    require_systemd
    kept=$data
    [ -n "$dest" ] || systemctl disable --now --quiet parley
    rm -f "$dest$unit"
    [ -n "$dest" ] || systemctl daemon-reload
    removed="$dest$unit"
    echo "Removed $dest$unit."
  fi
  if [ -e "$dest$bin/parley" ]; then
    rm -f "$dest$bin/parley"
    removed="$removed $dest$bin/parley"
    echo "Removed $dest$bin/parley."
  fi
  [ -n "$removed" ] || fail 1 "There is no $dest$bin/parley." "If it was installed with --prefix, give the same."
  [ ! -e "$dest$kept" ] || echo "The data is still in $dest$kept; remove it yourself if you want to lose it."
  exit
fi

if [ -z "$prefix" ]; then
  if [ -n "$service" ]; then prefix=/usr/local; else prefix=${HOME:+$HOME/.local}; fi
fi
[ -n "$prefix" ] ||
  fail 2 "HOME is not set, so there is no ~/.local to install to." "Choose a folder with --prefix DIR."
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
case $from in "" | /* | *://*) ;; *) from=$PWD/$from ;; esac
if [ -n "$service" ]; then
  case $prefix in
  /home/* | /root/* | /run/user/*)
    fail 2 "A service cannot run from $prefix." "Choose a folder such as /usr/local: home folders are hidden from it."
    ;;
  *[!-0-9A-Za-z/._+]*) fail 2 "A unit cannot name $prefix." "Choose a folder with letters and digits only." ;;
  esac
  require_systemd
fi
work=$(mktemp -d)
new=
trap 'rm -rf "$work" ${new:+"$new"}' EXIT
trap 'exit 1' HUP INT TERM
cd "$(dirname "$0")"

# Runs a step quietly; prints its output only if it fails.
step() {
  echo "$1 …"
  shift
  "$@" >"$work/log" 2>&1 </dev/null || {
    cat "$work/log" >&2
    fail 1 "\"$*\" failed, for the reason printed above." "Fix that, then run ./install.sh again: it is safe to repeat."
  }
}

build() {
  [ -x scripts/find-bun.sh ] ||
    fail 2 "This is no clone that parley could be built from." "Name a release with --from FOLDER or --from URL."
  bun=$(scripts/find-bun.sh)
  PATH=$(dirname "$bun"):$PATH
  export PATH
  step "Fetching the packages that parley is built from" bun install --frozen-lockfile
  step "Building parley with Bun $(bun --version)" bun run build
  binary=dist/parley
  unit_file=packaging/parley.service
}

# Prints what the names of the binaries for this machine end with.
platform() {
  case $(uname -m) in
  x86_64 | amd64) processor=x64 ;;
  aarch64) processor=arm64 ;;
  *) processor=$(uname -m) ;;
  esac
  if [ "$(uname -s)" = Darwin ]; then
    # Under Rosetta uname reports an Intel processor.
    [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || processor=arm64
    echo "darwin-$processor"
    return
  fi
  case $(ldd --version 2>&1) in *musl*) libc=-musl ;; *) libc= ;; esac
  baseline=
  if [ "$processor" = x64 ] && ! grep -qw avx2 /proc/cpuinfo; then baseline=-baseline; fi
  echo "$(uname -s | tr '[:upper:]' '[:lower:]')-$processor$libc$baseline"
}

sha256() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi | awk '{ print $1 }'
}

# Copies the release's file "$1" into "$work".
get() {
  case $from in
  https://*) set -- "$1" --proto =https --proto-redir =https ;;
  http://*) set -- "$1" --proto =http,https --proto-redir =http,https ;;
  *)
    cp "$from/$1" "$work/$1" || fail 1 "There is no $from/$1." "Give --from the folder of a release."
    return
    ;;
  esac
  name=$1
  shift
  has curl ||
    fail 1 "curl is missing, which fetches a release." "Install it, or fetch the files yourself and name their folder."
  curl -fsSL --retry 2 "$@" -o "$work/$name" "${from%/}/$name" ||
    fail 1 "${from%/}/$name could not be fetched." "Check the URL: it is that of the folder which has SHA256SUMS."
}

# Gets the file "$1" and stops unless its sum is the one of the release.
get_checked() {
  sum=$(awk -v name="$1" '{ sub(/^\*/, "", $2) } $2 == name { print $1 }' "$work/SHA256SUMS")
  get "$1"
  [ "$(sha256 "$work/$1")" = "${sum:-none}" ] ||
    fail 1 "$from/$1 is not what the release names: its SHA-256 is another one." \
      "Nothing was changed. Get the release again, from where you trust it."
}

take() {
  has sha256sum || has shasum || has openssl ||
    fail 1 "Nothing here can check a SHA-256." "Install sha256sum, shasum or openssl."
  get SHA256SUMS
  platform=$(platform)
  binary=$(awk -v end="-$platform" '
    { sub(/^\*/, "", $2) }
    $2 ~ /^parley-[0-9][^\/]*$/ && substr($2, length($2) - length(end) + 1) == end { print $2 }' "$work/SHA256SUMS")
  case $binary in
  "") fail 1 "The release in $from has no parley for this machine ($platform)." "Build it from a clone: ./install.sh" ;;
  *[!-0-9A-Za-z.+_]*) fail 1 "$from has more than one release." "Give --from a folder with one." ;;
  esac
  echo "Fetching $binary …"
  get_checked "$binary"
  [ -z "$service" ] || get_checked parley.service
  binary=$work/$binary
  unit_file=$work/parley.service
}

# What is refused leaves no folder behind, and nobody waits for a build that cannot be installed.
[ -z "$from" ] || take
bin=$dest$prefix/bin
if ! mkdir -p "$bin" || ! [ -w "$bin" ]; then
  fail 1 "Cannot write to $bin." "Choose another folder with --prefix DIR."
fi
[ -n "$from" ] || build

# A running binary cannot be overwritten, but another file can take its name.
new=$(mktemp "$bin/.parley.XXXXXX")
cp "$binary" "$new"
chmod 755 "$new"
version=$("$new" --version) ||
  fail 1 "$binary does not run on this machine." "On Alpine, install what it needs first: apk add libstdc++"
if [ -e "$bin/parley" ]; then what_happened="Replaced $bin/parley with"; else what_happened="Installed $bin/parley,"; fi
mv -f "$new" "$bin/parley"
new=
echo "$what_happened version $version."

if [ -n "$service" ]; then
  if [ -z "$dest" ] && ! id parley >/dev/null 2>&1; then
    useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin parley
  fi
  # What is there may belong to another user on purpose.
  [ -n "$dest" ] || [ -d "$data" ] || install -d -m 700 -o parley -g parley "$data"
  mkdir -p "$dest$units"
  sed "s|^ExecStart=.*|ExecStart=$prefix/bin/parley serve|" "$unit_file" >"$work/unit"
  cp "$work/unit" "$dest$unit"
  chmod 644 "$dest$unit"
  echo "Wrote $dest$unit."
  [ -z "$dest" ] || exit 0
  systemctl daemon-reload
  systemctl enable --quiet parley
  command="sudo -u parley $prefix/bin/parley --data-dir $data"
  if [ ! -e "$data/parley.db" ]; then
    echo "Create a workspace, then start it:"
    echo "  $command init --team NAME --owner NAME"
    echo "  sudo systemctl start parley"
    exit
  fi
  systemctl restart parley
  # A start that fails does so in its first moments.
  sleep 2
  systemctl is-active --quiet parley || fail 1 "parley does not start." "journalctl -u parley says why."
  echo "Started parley; journalctl -u parley shows its log. Its commands: $command --help"
  exit
fi

case :$PATH: in
*":$prefix/bin:"*) echo "Try it: parley quickstart" ;;
*)
  echo "Try it: $bin/parley quickstart"
  echo "To run it as \"parley\", add its folder to the PATH: export PATH=\"$bin:\$PATH\""
  ;;
esac
