# python3 subprocess, multiprocessing (fork and spawn, pools, queues, shared memory, managers), os.fork, signals. Deterministic.
py=/usr/bin/python3
[ -x $py ] || py=python3
cat >t.py <<'EOT'
import multiprocessing as mp, os, signal, subprocess, sys
from multiprocessing import shared_memory
def square(x): return x * x
def produce(q, n):
    for i in range(n): q.put((n, i))
def poke(name):
    s = shared_memory.SharedMemory(name)
    s.buf[0] = 42
    s.close()
def locked(v, l):
    for _ in range(100):
        with l: v.value += 1
def main():
    print(subprocess.run(["sh", "-c", "read x; echo got $x; echo err >&2; exit 3"], input="in\n", text=True, capture_output=True))
    p = subprocess.Popen(["sleep", "100"])
    p.terminate()
    print("terminated", p.wait())
    try:
        subprocess.run(["sleep", "100"], timeout=0.1)
    except subprocess.TimeoutExpired:
        print("timed out")
    print(subprocess.check_output("seq 1000 | tail -n 1", shell=True))
    with mp.Pool(2) as pool:
        print(sum(pool.map(square, range(100), chunksize=5)))
    q = mp.Queue()
    ps = [mp.Process(target=produce, args=(q, n)) for n in (3, 4)]
    for x in ps: x.start()
    print(sorted(q.get() for _ in range(7)))
    for x in ps: x.join()
    v, l = mp.Value("i", 0, lock=False), mp.Lock()
    ps = [mp.Process(target=locked, args=(v, l)) for _ in range(3)]
    for x in ps: x.start()
    for x in ps: x.join()
    print("value", v.value, [x.exitcode for x in ps])
    s = shared_memory.SharedMemory(create=True, size=100)
    x = mp.get_context("spawn").Process(target=poke, args=(s.name,))
    x.start(); x.join()
    print("shared", s.buf[0])
    s.close(); s.unlink()
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    print(os.waitpid(pid, 0)[1])
    signal.signal(signal.SIGALRM, lambda s, f: print("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    signal.pause()
    sys.stdout.flush()
if __name__ == "__main__":
    main()
EOT
$py t.py
