#!/bin/sh
# Prints the path of a Bun that is new enough: the one on the PATH, else one fetched into .bun/ of this clone.
# Everything but that path goes to standard error. Exit status 1 when there is no Bun to be had.
set -eu

wanted=1.4.5
root=$(cd "$(dirname "$0")/.." && pwd)
fetched=$root/.bun/$wanted/bun

# Prints a version as one number, so that two can be compared: 1.4.5 gives 1004005. Prints nothing for other text.
as_number() {
  echo "$1" | awk -F '[.+-]' '/^[0-9]+\.[0-9]+\.[0-9]+/ { print $1 * 1000000 + $2 * 1000 + $3; exit }'
}

# Succeeds when "$1" runs and is new enough. What npm leaves behind under the name bun may be a placeholder that only
# prints an error, so a file's being there proves nothing.
is_usable() {
  version=$("$1" --version </dev/null 2>/dev/null) || return 1
  version=$(as_number "$version")
  [ "${version:-0}" -ge "$(as_number "$wanted")" ]
}

# npm picks the native build for this machine among Bun's optional packages (several, where an old npm cannot tell
# one C library from another). It is used as it lies there: npm may be set to run no install scripts, and without
# its script the package "bun" itself holds only a placeholder.
fetch_with_npm() {
  npm install --prefix "$download" --include=optional --ignore-scripts --no-save --no-audit --no-fund \
    --no-update-notifier --loglevel=error "bun@$wanted" >/dev/null </dev/null || return 1
  for bun in "$download"/node_modules/@oven/*/bin/bun; do
    is_usable "$bun" && return
  done
  echo "npm brought no Bun that runs on this machine ($(uname -sm))." >&2
  return 1
}

# With a shell that it does not know, Bun's installer leaves the start-up files of the user's shell alone.
fetch_with_curl() {
  curl -fsSL --retry 2 -o "$download/install" https://bun.sh/install || return 1
  SHELL=/bin/sh BUN_INSTALL=$download bash "$download/install" "bun-v$wanted" >&2 </dev/null || return 1
  bun=$download/bin/bun
  is_usable "$bun"
}

fetch() {
  if command -v npm >/dev/null 2>&1; then
    echo "Fetching Bun $wanted from npm into .bun/ …" >&2
    fetch_with_npm && return
  fi
  if command -v curl >/dev/null 2>&1; then
    echo "Fetching Bun $wanted from bun.sh into .bun/ …" >&2
    fetch_with_curl && return
  fi
  return 1
}

if on_path=$(command -v bun) && is_usable "$on_path"; then
  echo "$on_path"
  exit
fi

if ! is_usable "$fetched"; then
  mkdir -p "$(dirname "$fetched")"
  download=$(mktemp -d "$root/.bun/download.XXXXXX")
  trap 'rm -rf "$download"' EXIT
  trap 'exit 1' HUP INT TERM
  if ! fetch; then
    echo "error: Parley is built with Bun $wanted or newer, which is not on the PATH and could not be fetched." >&2
    echo "       Install it (https://bun.sh), or npm, or curl with bash and unzip, and run this again." >&2
    exit 1
  fi
  mv -f "$bun" "$fetched"
fi
echo "$fetched"
