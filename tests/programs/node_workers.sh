# node: worker threads in tight loops over shared memory, with Atomics and without; crypto in the thread pool. The racy sum differs.
cat >t.js <<'EOT'
const crypto = require('crypto');
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const ROUNDS = 2000000;
if (!isMainThread) {
  const a = new Int32Array(workerData);
  let x = 1;
  for (let i = 0; i < ROUNDS; i++) {
    a[0] = a[0] + 1;
    x = (Math.imul(x, 1103515245) + 12345) | 0;
    if (i % 16 === 0) Atomics.add(a, 1, 1);
  }
  while (Atomics.load(a, 2) === 0) ; // spins for the others
  parentPort.postMessage(x);
} else (async () => {
  const a = new Int32Array(new SharedArrayBuffer(64));
  const results = [0, 1, 2].map(() => new Promise(r => new Worker(__filename, { workerData: a.buffer }).on('message', r)));
  const keys = await Promise.all([1, 2, 3, 4].map(i => new Promise((r, e) =>
    crypto.pbkdf2('secret', 'salt' + i, 3000, 32, 'sha512', (err, k) => err ? e(err) : r(k.toString('hex'))))));
  console.log(keys.join('\n'));
  const { privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  console.log('signed', crypto.sign('sha256', Buffer.from('text'), privateKey).toString('hex'));
  while (Atomics.load(a, 1) < 3 * ROUNDS / 16) await new Promise(r => setTimeout(r, 1));
  Atomics.store(a, 2, 1);
  console.log('results', await Promise.all(results));
  console.log('atomic', a[1], 'racy', a[0]);
})();
EOT
node t.js
