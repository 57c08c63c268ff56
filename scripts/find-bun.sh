#!/bin/sh
# Prints the path of a Bun that is new enough: the one on the PATH, else one fetched into .bun/ of this clone. With the
# name of a build, such as linux-aarch64-musl, prints the path of that one, fetched likewise; it need not run here.
# All other output goes to standard error. Exits with 1 when no Bun can be found or fetched.
set -eu

wanted=1.4.5
root=$(cd "$(dirname "$0")/.." && pwd)
fetched=$root/.bun/$wanted/bun

# Prints a version as one number, so that two can be compared: 1.4.5 gives 1004005. Prints nothing for other text.
as_number() {
  echo "$1" | awk -F '[.+-]' '/^[0-9]+\.[0-9]+\.[0-9]+/ { print $1 * 1000000 + $2 * 1000 + $3; exit }'
}

# Succeeds when "$1" runs and is new enough. That the file exists proves nothing: the one that npm installs as bun may
# be a placeholder that only prints an error.
is_usable() {
  version=$("$1" --version </dev/null 2>/dev/null) || return 1
  version=$(as_number "$version")
  [ "${version:-0}" -ge "$(as_number "$wanted")" ]
}

# The SHA-512 of npm's package @oven/bun-"$1" in the wanted version, so that nothing else ever runs. Another version has
# other sums: npm view @oven/bun-linux-x64@VERSION dist.integrity, converted from base64 to hex.
sum_of() {
  case $1 in
  linux-x64) echo 2165fd0442e8187014b4ca2791e49a35a6705f3464fa80f0e8c93e1c115777728760804d06c20646ea4c64f7203680db2692eeea00098c8a0854f66db75689d6 ;;
  linux-x64-baseline) echo b3cc8cc187059e7ac0d7bf208e2d2065b904d965437a3fd38b5c7bef4a0f7e2871c91c5230d846862010357579dda0deada67192c76f295fd101d40109dd2a3c ;;
  linux-x64-musl) echo d744285bf61f4e09d445a184687a490a25e32c8d9ee624ed7d50da03924a73253369ad5caba715518f7f52ae57918cefb518c72d17bd3a3fe54c3210731cbc1d ;;
  linux-x64-musl-baseline) echo 71626153c874f8c8948294adf7db10863c4b208a2c28470a61db4a75da21a2452f02e37a8ca3b2ee0efe4034d94d7b701f1cfddf02f7057f8beb05d53c3507dc ;;
  linux-aarch64) echo e015e6b122a78ceae5196a99578c7fa166bb015a11f81ea509775d3333805c1226dede747ac960f706faea09ad5b501a984435975083be69abbb2b0486a39632 ;;
  linux-aarch64-musl) echo 5c235cf96bef30074d35bf8e593a20a72f8df709bad9f91578454b6fa868c34459856e4b3e2e9cec19647950ae5a9b3b5e3125dac685a4715adb4ff513e3c01e ;;
  darwin-x64) echo aa42cf3061d933d348e827874d6c157b3ce6968e9c0b84daef25008d82165d2dfaeaa41c3a5729ef9b76b99ca2b9544130f4b487da84d2d09cbc21c6685aa326 ;;
  darwin-x64-baseline) echo cea7cb03903807e858321e56633612a2ddee674e85ce174fd0e130422b04cdd8ab62d5c68f97101657f2df50467cdb00b24d4677fc3f3b127f8eaa89ddc31c97 ;;
  darwin-aarch64) echo e0c2055c799cb47d84840c4b5e6dbfab136dbf5edd16d2c9ca5bda382b2b82ae8a4aa1d3b3a796e584ab26345b27161425a47dd357ec37c25f64e6be0ac5a959 ;;
  windows-x64) echo 14dbe9972eb9d6f704fc61e0356cfa999be19a4c01baef07c39e2837303e090a20f875bee78dab5d0999a8d1d1905c5acc3f4bdf18be893b6f3b77a78008097f ;;
  esac
}

# Prints Bun's name for this machine.
platform() {
  case $(uname -m) in
  x86_64 | amd64) processor=x64 ;;
  arm64 | aarch64) processor=aarch64 ;;
  *) processor=$(uname -m) ;;
  esac
  case $(uname -s) in
  Darwin)
    # Under Rosetta uname reports an Intel processor.
    [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || processor=aarch64
    echo "darwin-$processor"
    ;;
  *)
    case $(ldd --version 2>&1) in *musl*) libc=-musl ;; *) libc= ;; esac
    echo "$(uname -s | tr '[:upper:]' '[:lower:]')-$processor$libc"
    ;;
  esac
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Prints the sources to try in order: npm, which knows this machine's registry, credentials, certificates and proxy;
# then, through curl, the registry that npm is configured for, then npm's own.
sources() {
  if has npm; then echo npm; fi
  has curl || return 0
  if has npm; then
    npm config get registry 2>/dev/null </dev/null | grep '^https*://' || true
  fi
  echo https://registry.npmjs.org
}

# Downloads the build "$2" from the source "$1" into bun.tgz.
download_from() {
  if [ "$1" = npm ]; then
    (
      cd "$download"
      npm pack --loglevel error "@oven/bun-$2@$wanted" >/dev/null </dev/null && mv oven-bun-*.tgz bun.tgz 2>/dev/null
    )
  else
    curl -fsSL --retry 2 -o "$download/bun.tgz" "${1%/}/@oven/bun-$2/-/bun-$2-$wanted.tgz"
  fi
}

# Prints nothing without a tool for it.
sha512() {
  if has sha512sum; then
    sha512sum "$1"
  elif has shasum; then
    shasum -a 512 "$1"
  elif has openssl; then
    openssl dgst -sha512 -r "$1"
  fi | awk '{ print $1 }'
}

# Unpacks the build "$1" and sets "$bun", but only if its sum is that of the published one.
unpack() {
  sum=$(sum_of "$1")
  if [ -z "$sum" ]; then
    echo "This clone knows no Bun for $1." >&2
    return 1
  fi
  for source in $(sources); do
    echo "Fetching Bun $wanted from npm into .bun/ …" >&2
    download_from "$source" "$1" || continue
    if [ "$(sha512 "$download/bun.tgz")" = "$sum" ]; then
      case $1 in windows-*) bun=package/bin/bun.exe ;; *) bun=package/bin/bun ;; esac
      tar -xzf "$download/bun.tgz" -C "$download" "$bun" || return 1
      bun=$download/$bun
      chmod 755 "$bun"
      return
    fi
    echo "What came is not Bun $wanted as it was published (its SHA-512 is another one): it was not run." >&2
  done
  return 1
}

# The tools that this machine lacks to fetch a Bun.
missing=

# Fetches the build "$1", or without it one that runs on this machine.
fetch() {
  if ! has npm && ! has curl; then
    missing="curl or npm"
    return 1
  fi
  if [ -z "$(sha512 /dev/null)" ]; then
    echo "Nothing is fetched, since nothing here can check it." >&2
    missing="sha512sum, shasum or openssl"
    return 1
  fi
  if [ -n "$1" ]; then
    unpack "$1"
    return
  fi
  platform=$(platform)
  unpack "$platform" || return 1
  is_usable "$bun" && return
  # A processor without AVX2 needs another build.
  case $platform in
  *-x64*) unpack "$platform-baseline" && is_usable "$bun" && return ;;
  esac
  echo "Bun $wanted does not run on this machine ($platform)." >&2
  return 1
}

build=${1:-}
if [ -n "$build" ]; then
  fetched=$root/.bun/$wanted/$build/bun
elif on_path=$(command -v bun) && is_usable "$on_path"; then
  echo "$on_path"
  exit
fi

# What was made for another machine cannot be tried; it got its name only after its sum had been checked.
is_there() {
  if [ -n "$build" ]; then [ -f "$fetched" ]; else is_usable "$fetched"; fi
}

if ! is_there; then
  mkdir -p "$(dirname "$fetched")"
  download=$(mktemp -d "$root/.bun/download.XXXXXX")
  trap 'rm -rf "$download"' EXIT
  trap 'exit 1' HUP INT TERM
  if ! fetch "$build"; then
    if [ -n "$build" ]; then
      echo "error: Bun $wanted for $build could not be fetched." >&2
      echo "       Check that npm's registry can be reached${missing:+, install $missing}, and run this again." >&2
    else
      echo "error: Parley is built with Bun $wanted or newer, which is not on the PATH and could not be fetched." >&2
      echo "       Install it (https://bun.sh)${missing:+, or $missing}, and run this again." >&2
    fi
    exit 1
  fi
  mv -f "$bun" "$fetched"
fi
echo "$fetched"
