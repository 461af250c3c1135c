# shellcheck shell=bash
# Sourced by the scripts beside it: where things are, how to build, and how to run as an ordinary user.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034
python=/usr/bin/python3.11 # not `python3`: what that names on a PATH differs from machine to machine

# Another clone of the same tree finds what this one compiled.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true

say() { printf '\n== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# as_user COMMAND...: never with privileges. Root becomes uid 1000 (which needs no passwd entry); no_new_privs is set as in a restricted pod.
as_user() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs -- "$@"
  else
    setpriv --no-new-privs -- "$@"
  fi
}

# user_folder: a fresh folder under /tmp that the ordinary user owns.
user_folder() {
  local folder
  folder=$(mktemp -d /tmp/podjail-XXXXXXXX)
  if [ "$(id -u)" = 0 ]; then chown 1000:1000 "$folder"; fi
  printf '%s\n' "$folder"
}

# build PRESET [TARGET...]: configures and builds; without targets everything.
build() {
  local preset=$1
  shift
  local targets=()
  [ $# = 0 ] || targets=(--target "$@")
  say "build ($preset)"
  (cd "$root" && cmake --preset "$preset" -Wno-dev --log-level=WARNING >/dev/null && cmake --build --preset "$preset" "${targets[@]}") ||
    die "the build failed (cmake --preset $preset && cmake --build --preset $preset shows it alone)"
}

# binaries PRESET FOLDER: prints a folder from which the ordinary user can run the built binaries: the build's own where that user can reach it (a checkout
# under /root can't be), else FOLDER/bin with copies.
binaries() {
  local built=$root/build/$1
  if as_user test -x "$built/podjail" 2>/dev/null; then
    printf '%s\n' "$built"
    return
  fi
  mkdir -p "$2/bin"
  chmod 755 "$2/bin"
  install -m 755 "$built/podjail" "$built"/podjail-python3.* "$2/bin/"
  printf '%s\n' "$2/bin"
}
