# node: timers, promises, worker threads, child processes, http on loopback, crypto. Ports, ids and random numbers differ.
cat >t.js <<'EOT'
const http = require('http'), cp = require('child_process'), crypto = require('crypto'), fs = require('fs');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) { parentPort.postMessage([...Array(1000).keys()].reduce((a, b) => a + b)); }
else (async () => {
  console.log(process.pid > 0, crypto.createHash('sha256').update('x').digest('hex'), crypto.randomUUID());
  console.log(await new Promise(r => new Worker(__filename).on('message', r)));
  console.log(cp.execSync('echo from child').toString().trim());
  await new Promise(r => setTimeout(r, 20));
  const s = http.createServer((q, a) => a.end('answer ' + q.url)).listen(0, '127.0.0.1');
  await new Promise(r => s.on('listening', r));
  const u = 'http://127.0.0.1:' + s.address().port;
  for (let i = 0; i < 5; i++)
    console.log(await new Promise(r => http.get(u + '/' + i, a => a.on('data', d => r(d.toString())))));
  s.close();
  fs.writeFileSync('f', 'text');
  console.log((await fs.promises.readFile('f')).toString(), Math.random(), Date.now());
})();
EOT
node t.js
