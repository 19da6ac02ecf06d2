#!/bin/sh
# Looks at a page of 'git checkpoint report' in a headless Chromium: no script of the repository runs, nothing is fetched, nothing is
# reported on the console, nothing is wider than a telephone, and axe-core finds no obstacle, in both themes.
#
#   tests/page.sh [<page>]      (without <page>: a report of this repository)
#
# It needs chromium, node, npm and a git-checkpoint on the PATH; axe-core and playwright-core come from npm, into a temporary directory.
set -eu
cd "$(dirname "$0")/.."
for tool in chromium node npm; do
	command -v $tool >/dev/null || { echo "SKIPPED: there is no '$tool'"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=${1:-$work/report.html}
test $# = 1 || git checkpoint report -n 20 -o "$page"
cp tests/page/check.js "$work"
(cd "$work" && npm init -y >/dev/null && npm install --silent axe-core@4 playwright-core@1 >/dev/null)
node "$work/check.js" "$(realpath "$page")"
