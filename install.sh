#!/bin/sh
# Builds the parley binary from this clone and installs it. See ./install.sh --help.
set -eu

usage() {
  cat <<'TEXT'
Usage: ./install.sh [--prefix DIR]

Builds parley and installs it as DIR/bin/parley. Uses Bun 1.4.5 or newer from
the PATH, or else fetches Bun with npm or curl into .bun/ of this clone. Nothing
is installed globally.
Run it again to upgrade; a running parley is not disturbed.

  --prefix DIR   where to install; created if missing (default: ~/.local)
  --help         print this help
TEXT
}

# Prints the problem and what to do about it, and exits with status "$1".
fail() {
  printf 'error: %s\n       %s\n' "$2" "$3" >&2
  exit "$1"
}

prefix=${HOME:+$HOME/.local}
while [ $# -gt 0 ]; do
  case $1 in
  --prefix)
    [ -n "${2:-}" ] || fail 2 "--prefix needs a folder." "Give one: ./install.sh --prefix ~/.local"
    prefix=$2
    shift
    ;;
  --prefix=?*) prefix=${1#--prefix=} ;;
  --help | -h)
    usage
    exit
    ;;
  *) fail 2 "unknown option: $1" "./install.sh --help lists the options." ;;
  esac
  shift
done

[ -n "$prefix" ] || fail 2 "HOME is not set, so there is no ~/.local to install to." "Choose a folder with --prefix DIR."
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
bin=$prefix/bin
if ! mkdir -p "$bin" || ! [ -w "$bin" ]; then
  fail 1 "Cannot write to $bin." "Choose another folder with --prefix DIR."
fi

cd "$(dirname "$0")"
bun=$(scripts/find-bun.sh)
PATH=$(dirname "$bun"):$PATH
export PATH

# Runs a step quietly; prints its output only if it fails.
log=$(mktemp)
new=
trap 'rm -f "$log" ${new:+"$new"}' EXIT
trap 'exit 1' HUP INT TERM
step() {
  echo "$1 …"
  shift
  "$@" >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    fail 1 "\"$*\" failed, for the reason printed above." "Fix that, then run ./install.sh again: it is safe to repeat."
  }
}
step "Fetching the packages that parley is built from" bun install --frozen-lockfile
step "Building parley with Bun $(bun --version)" bun run build

# A running binary cannot be overwritten, but another file can take its name.
new=$(mktemp "$bin/.parley.XXXXXX")
cp dist/parley "$new"
chmod 755 "$new"
version=$("$new" --version)
[ -e "$bin/parley" ] && what_happened="Replaced $bin/parley with" || what_happened="Installed $bin/parley,"
mv -f "$new" "$bin/parley"
echo "$what_happened version $version."

case :$PATH: in
*":$bin:"*) echo "Try it: parley quickstart" ;;
*)
  echo "Try it: $bin/parley quickstart"
  echo "To run it as \"parley\", add its folder to the PATH: export PATH=\"$bin:\$PATH\""
  ;;
esac
