#!/bin/sh
# Installs what is beside this file, on Linux with systemd: what the Debian package installs, and what it does then.
#
#   sudo ./install.sh             installs, or upgrades; a configuration that is there is kept
#   sudo ./install.sh remove      takes the program away; configuration, secrets and store stay
set -eu
umask 022

cd "$(dirname "$0")"
[ "$(id -u)" = 0 ] || { echo "install.sh: run it as root" >&2; exit 1; }
if [ "$(dpkg-query --show --showformat='${db:Status-Status}' hostwatch 2>/dev/null)" = installed ]; then
  echo "install.sh: the Debian package is installed here; upgrade or remove that" >&2
  exit 1
fi
before=
[ ! -e /usr/bin/hostwatch ] || before=some

case ${1:-install} in
  install)
    # A file that is being run is replaced, not written to.
    cp -R --remove-destination usr /
    [ -e /etc/hostwatch/hostwatch.toml ] || { mkdir -p /etc/hostwatch && cp etc/hostwatch/hostwatch.toml /etc/hostwatch/; }
    sh package/postinst configure "$before"
    ;;
  remove)
    sh package/prerm remove
    find usr -type f | while read -r file; do rm -f "/$file"; done
    rm -rf /usr/share/doc/hostwatch
    # And the folders that nobody else has anything in.
    find usr -mindepth 2 -depth -type d | while read -r folder; do rmdir "/$folder" 2>/dev/null || true; done
    sh package/postrm remove
    ;;
  *)
    echo "install.sh: $1 is neither install nor remove" >&2
    exit 2
    ;;
esac
