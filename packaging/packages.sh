#!/bin/sh
# Makes deb and rpm packages of a release, into its folder: packaging/packages.sh FOLDER. Needs Go, which fetches nfpm.
# SHA256SUMS names them afterwards.
set -eu

# The last version whose modules all come from Go's proxy.
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0

[ -f "${1:-}/SHA256SUMS" ] || {
  echo "Usage: packaging/packages.sh FOLDER    (a folder that bun run release has made)" >&2
  exit 2
}
release=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
for build in x64-baseline:amd64 arm64:arm64; do
  BINARY=$(echo "$release"/parley-*-linux-"${build%:*}")
  ARCH=${build#*:}
  VERSION=$(basename "$BINARY" | sed 's/^parley-\(.*\)-linux-.*/\1/')
  export BINARY ARCH VERSION
  for packager in deb rpm; do
    go run "$nfpm" package --config packaging/nfpm.yaml --packager "$packager" --target "$release"
  done
done
cd "$release"
rm SHA256SUMS
sha256sum -- * >.sums
mv .sums SHA256SUMS
