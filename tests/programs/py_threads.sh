# python3 threads: locks, queues, conditions, events, timers, thread pools, daemon threads. Output of the second part differs in order.
py=/usr/bin/python3
[ -x $py ] || py=python3
$py - <<'EOT'
import concurrent.futures, queue, threading, time
lock, q, total = threading.Lock(), queue.Queue(10), 0
def worker():
    global total
    while (item := q.get()) is not None:
        with lock:
            total += item
        q.task_done()
ts = [threading.Thread(target=worker) for _ in range(8)]
for t in ts: t.start()
for i in range(500): q.put(i)
q.join()
for t in ts: q.put(None)
for t in ts: t.join()
print("total", total)
b = threading.Barrier(4)
def meet(n):
    for _ in range(10): b.wait()
    return n
with concurrent.futures.ThreadPoolExecutor(4) as ex:
    print(sorted(ex.map(meet, range(4))))
e = threading.Event()
threading.Timer(0.02, e.set).start()
print("event", e.wait(10))
c, turn, log = threading.Condition(), 0, []
def take(n):
    global turn
    for _ in range(5):
        with c:
            c.wait_for(lambda: turn % 3 == n)
            log.append(n)
            turn += 1
            c.notify_all()
ts = [threading.Thread(target=take, args=(n,)) for n in range(3)]
for t in ts: t.start()
for t in ts: t.join()
print(log == [0, 1, 2] * 5)
order = []
def racer(n):
    for i in range(50):
        order.append(n)
        time.sleep(0)
ts = [threading.Thread(target=racer, args=(n,)) for n in range(4)]
for t in ts: t.start()
for t in ts: t.join()
print("".join(map(str, order)))
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
EOT
