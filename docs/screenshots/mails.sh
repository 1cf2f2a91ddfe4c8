#!/usr/bin/env bash
# Pictures of every sort of mail, as a mail program shows its HTML part: 640 and 390 pixels wide, light and dark.
#
#   docs/screenshots/mails.sh [NAME...]        # all, or those whose name has one of the words
#   docs/screenshots/mails.sh --docs           # those that docs/mails.md shows, into docs/images
#
# The pages are left by the golden tests under tmp/mails in the build directory; the pictures go to target/screenshots/mails.
# Needs Chromium (CHROMIUM names another binary) and no network.
set -euo pipefail

cd "$(dirname "$0")/../.."
chromium=${CHROMIUM:-chromium}
pages=${CARGO_TARGET_DIR:-target}/tmp/mails
out=target/screenshots/mails
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command -v "$chromium" >/dev/null || {
  echo "$chromium is not installed; set CHROMIUM to a Chromium or Chrome" >&2
  exit 1
}
cargo test --quiet --lib mail_golden >/dev/null

browse() {
  timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run \
    --hide-scrollbars --user-data-dir="$scratch/profile" "$@" 2>/dev/null
}

# A frame of the width wanted: windows of a browser have a least width that telephones do not have.
frame() {
  local page=$1 width=$2 height=$3
  printf '<!doctype html><meta name="color-scheme" content="light dark"><style>body{margin:0}</style>'
  printf '<iframe src="%s" width="%s" height="%s" style="border:0;display:block"></iframe>' "$page" "$width" "$height"
  printf '<script>onload=()=>{const d=document.querySelector("iframe").contentDocument;'
  printf 'document.title=`${d.documentElement.scrollHeight} ${d.documentElement.scrollWidth}`}</script>'
}

# The height and the width that a page takes in a frame.
measure() {
  local width=$1
  frame page.html "$width" 100 >"$scratch/frame.html"
  browse --allow-file-access-from-files --dump-dom "file://$scratch/frame.html" |
    sed -n 's:.*<title>\([0-9]* [0-9]*\)</title>.*:\1:p'
}

shoot() {
  local width=$1 height=$2 scheme=$3 file=$4 blink
  blink=$([ "$scheme" = dark ] && echo 0 || echo 1)
  frame page.html "$width" "$height" >"$scratch/frame.html"
  browse --blink-settings=preferredColorScheme="$blink" --window-size="$width,$height" \
    --screenshot="$file" "file://$scratch/frame.html"
  echo "$file"
}

if [ "${1:-}" = --docs ]; then
  most=1000 # pixels: the rest is for those who get the mail
  mkdir -p docs/images
  for pair in vm_error_opened:vm-error disconnect_rung_3:disconnect; do
    cp "$pages/${pair%:*}.html" "$scratch/page.html"
    size=$(measure 640)
    height=$((${size% *} < most ? ${size% *} : most))
    shoot 640 "$height" light "docs/images/mail-${pair#*:}.png"
  done
  exit
fi
mkdir -p "$out"

wanted() {
  local name=$1 word
  shift
  [ $# -eq 0 ] && return 0
  for word in "$@"; do case $name in *"$word"*) return 0 ;; esac; done
  return 1
}

for page in "$pages"/*.html; do
  name=$(basename "$page" .html)
  wanted "$name" "$@" || continue
  cp "$page" "$scratch/page.html"
  for width in 640 390; do
    size=$(measure "$width")
    if [ "${size#* }" -gt "$width" ]; then echo "$name: ${size#* } pixels wide at $width" >&2; fi
    for scheme in light dark; do
      shoot "$width" "${size% *}" "$scheme" "$out/$name-$width-$scheme.png"
    done
  done
done
