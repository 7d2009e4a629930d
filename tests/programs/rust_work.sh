# A Rust program with threads, channels, a hash map, files, a caught panic and a child. Deterministic.
set -eu
command -v rustc >/dev/null && rustc --version >/dev/null 2>&1 || { echo "skip: no rustc"; exit 77; }
cat >prog.rs <<'RS'
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::mpsc;

#[inline(never)]
fn count(text: &str) -> BTreeMap<char, usize> {
    let mut m: HashMap<char, usize> = HashMap::new();
    for c in text.chars() {
        *m.entry(c).or_insert(0) += 1;
    }
    m.into_iter().collect()
}

fn main() -> std::io::Result<()> {
    let (tx, rx) = mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let tx = tx.clone();
            std::thread::spawn(move || tx.send((i, (0..1000u64).map(|x| x * i).sum::<u64>())).unwrap())
        })
        .collect();
    drop(tx);
    let mut got: Vec<_> = rx.iter().collect();
    got.sort();
    for t in threads {
        t.join().unwrap();
    }
    println!("{:?}", got);
    println!("{:?}", count("hello hermit"));
    let mut f = std::fs::File::create("out")?;
    writeln!(f, "written")?;
    println!("{}", std::fs::read_to_string("out")?.trim());
    let r = std::panic::catch_unwind(|| {
        let v: Vec<i32> = vec![];
        v[std::env::args().count()]
    });
    println!("panicked {}", r.is_err());
    let o = std::process::Command::new("/bin/echo").arg("child").output()?;
    print!("{}", String::from_utf8_lossy(&o.stdout));
    std::process::exit(7)
}
RS
rustc -g -O -o prog prog.rs
exec ./prog 2>/dev/null
