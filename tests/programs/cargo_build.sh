# cargo: a new package with a library and a test, built, tested and run, offline. Times are printed on stderr only.
set -eu
command -v cargo >/dev/null && cargo --version >/dev/null 2>&1 || { echo "skip: no cargo"; exit 77; }
export CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
cargo new -q --vcs none --name thing thing
cd thing
cat >src/lib.rs <<'RS'
pub fn double(n: i32) -> i32 { n * 2 }
#[test]
fn doubles() { assert_eq!(double(21), 42); }
RS
cat >src/main.rs <<'RS'
fn main() { println!("double {}", thing::double(4)); }
RS
cargo build -q -j2
cargo run -q
cargo test -q 2>/dev/null | grep -c ok
