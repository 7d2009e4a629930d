# python3: what differs from run to run: hash seeds, random, time, ids, uuid, environment of the process.
py=/usr/bin/python3
[ -x $py ] || py=python3
$py -c '
import hashlib, os, random, secrets, socket, sys, threading, time, uuid, resource
print({*"abcdef"}, hash("x"), random.random(), random.SystemRandom().random(), secrets.token_hex(8))
print(time.time(), time.monotonic(), time.perf_counter_ns(), time.process_time_ns(), time.localtime())
print(os.getpid(), os.getppid(), uuid.uuid1(), uuid.uuid4(), id(object()), threading.get_native_id())
print(os.urandom(8).hex(), os.uname(), os.getloadavg(), os.cpu_count(), os.sched_getaffinity(0))
print(resource.getrusage(resource.RUSAGE_SELF), os.times(), socket.gethostname())
print(os.stat("/proc/self"), sorted(os.listdir("/proc/self/fd")))
'
