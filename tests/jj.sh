#!/bin/sh
# Runs the tests that need the real jj, and brings one along if there is none on the PATH.
#
# Building it takes long (half an hour of one core), so that the other tests do without: they say SKIPPED. A jj that is
# kept between runs (JJ_ROOT) is built once.
set -eu
cd "$(dirname "$0")/.."
root=${JJ_ROOT:-$PWD/target/jj}
PATH=$root/bin:$PATH
if ! command -v jj >/dev/null; then
    # Tests run no jj for long: what makes it fast only makes its build slow.
    CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_TARGET_DIR=$root/build \
        cargo install jj-cli --version 0.45.1 --locked --root "$root" --bin jj
    rm -rf "$root/build"
fi
jj --version
GIT_CHECKPOINT_TEST_JJ=1 cargo test --locked --features failpoints --test main -- jj
