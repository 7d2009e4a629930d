use std::io::Write;

mod deep {
    pub trait Speak {
        fn speak(&self, n: u32) -> u32;
    }
    pub struct Dog;
    impl Speak for Dog {
        #[inline(never)]
        fn speak(&self, n: u32) -> u32 {
            super::say(n);
            n + 1
        }
    }
}

#[inline(never)]
fn say(n: u32) {
    std::io::stdout().write_all(format!("say {}\n", n).as_bytes()).unwrap();
}

#[inline(never)]
fn generic<T: deep::Speak>(t: &T, n: u32) -> u32 {
    (0..n).map(|i| t.speak(i)).sum()
}

fn main() {
    println!("{}", generic(&deep::Dog, 3));
}
