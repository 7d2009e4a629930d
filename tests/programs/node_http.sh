# node's http server with two worker threads that hash; http_load.outside.sh asks it and ends it by SIGTERM.
cat >server.js <<'EOT'
const http = require('http'), crypto = require('crypto'), fs = require('fs');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
  parentPort.on('message', ({ id, path }) => {
    let sum = Buffer.from(path);
    for (let i = 0; i < 2000; i++) sum = crypto.createHash('sha256').update(sum).digest();
    parentPort.postMessage({ id, sum: sum.toString('hex') });
  });
} else {
  const waiting = new Map();
  const workers = [0, 1].map(() => new Worker(__filename).on('message', ({ id, sum }) => {
    waiting.get(id).end(sum + '\n');
    waiting.delete(id);
  }));
  let served = 0;
  const server = http.createServer((q, a) => {
    const id = served++;
    if (q.url === '/echo') return q.pipe(a);
    waiting.set(id, a);
    workers[id % 2].postMessage({ id, path: q.url });
  }).listen(0, '127.0.0.1', () => {
    fs.writeFileSync('pid', String(process.pid));
    fs.writeFileSync('port.new', String(server.address().port));
    fs.renameSync('port.new', 'port');
  });
  process.on('SIGTERM', () => {
    server.close();
    server.closeAllConnections();
    workers.forEach(w => w.terminate());
    console.log('served', served);
    console.log('stopped');
  });
}
EOT
node server.js 2>&1
