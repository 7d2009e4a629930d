# python3 asyncio: tasks, streams and datagrams on loopback, subprocesses, signals, time outs, executors. Deterministic.
py=/usr/bin/python3
[ -x $py ] || py=python3
$py - <<'EOT'
import asyncio, os, signal
async def handle(r, w):
    while line := await r.readline():
        w.write(line.upper())
        await w.drain()
    w.close()
async def client(port, n):
    r, w = await asyncio.open_connection("127.0.0.1", port)
    out = []
    for i in range(20):
        w.write(b"client %d message %d\n" % (n, i))
        await w.drain()
        out.append(await r.readline())
    w.close()
    await w.wait_closed()
    return len(out), out[-1]
class Echo(asyncio.DatagramProtocol):
    def connection_made(self, t): self.t = t
    def datagram_received(self, data, addr): self.t.sendto(data[::-1], addr)
class Once(asyncio.DatagramProtocol):
    def __init__(self, f): self.f = f
    def connection_made(self, t): t.sendto(b"datagram")
    def datagram_received(self, data, addr): self.f.set_result(data)
async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(await asyncio.gather(*(client(port, n) for n in range(5))))
    server.close()
    await server.wait_closed()
    loop = asyncio.get_running_loop()
    t, _ = await loop.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", 0))
    f = loop.create_future()
    await loop.create_datagram_endpoint(lambda: Once(f), remote_addr=t.get_extra_info("sockname"))
    print(await f)
    p = await asyncio.create_subprocess_exec("tr", "a-z", "A-Z", stdin=-1, stdout=-1)
    print(await p.communicate(b"through tr"), p.returncode)
    try:
        await asyncio.wait_for(asyncio.sleep(100), 0.02)
    except asyncio.TimeoutError:
        print("time out")
    got = loop.create_future()
    loop.add_signal_handler(signal.SIGUSR1, got.set_result, "signal")
    os.kill(os.getpid(), signal.SIGUSR1)
    print(await got)
    print(await asyncio.to_thread(sum, range(1000)))
    q, seen = asyncio.Queue(), []
    async def consume():
        while (x := await q.get()) is not None: seen.append(x)
    c = asyncio.create_task(consume())
    for i in range(100): await q.put(i)
    await q.put(None)
    await c
    print(len(seen))
asyncio.run(main())
EOT
