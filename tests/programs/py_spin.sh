# python3: threads in tight loops that the interpreter switches, an unprotected counter, a timer's handler, processes that
# share memory. Sums that are not protected differ.
py=/usr/bin/python3
[ -x $py ] || py=python3
cat >t.py <<'EOT'
import hashlib, multiprocessing, signal, sys, threading
sys.setswitchinterval(0.0005)
counter, seen, ticks, places = 0, [0] * 3, 0, []
def body(me):
    global counter
    h = 0
    for i in range(150000):
        v = counter
        h = (h * 31 + v) & 0xffffffff
        counter = v + 1
    seen[me] = h
def tick(sig, frame):
    global ticks
    ticks += 1
    places.append((frame.f_lineno, counter))
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
threads = [threading.Thread(target=body, args=(i,)) for i in range(3)]
[t.start() for t in threads]
n = 0
while any(t.is_alive() for t in threads):
    n += 1
[t.join() for t in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
print("counter", counter, seen, "looked", n, "ticks", ticks, hashlib.sha256(repr(places).encode()).hexdigest())
def add(v):
    for i in range(20000):
        v.value += 1
value = multiprocessing.Value("i", 0, lock=False)
processes = [multiprocessing.Process(target=add, args=(value,)) for i in range(2)]
[p.start() for p in processes]
[p.join() for p in processes]
print("processes", value.value)
print("ok")
EOT
$py t.py
