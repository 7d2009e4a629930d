# python3: json, re, hashlib, files, collections, floats, hash randomisation off and on, exceptions, generators. Deterministic.
py=/usr/bin/python3
[ -x $py ] || py=python3
cat >t.py <<'EOT'
import collections, datetime, decimal, fractions, hashlib, io, json, math, os, random, re, struct, sys, tempfile, zlib
data = {"list": list(range(10)), "nested": {"pi": math.pi, "text": "\u00e9\u4e2d"}, "none": None}
text = json.dumps(data, sort_keys=True)
print(text, json.loads(text) == data)
print(hashlib.sha256(text.encode()).hexdigest(), zlib.crc32(text.encode()))
print(re.findall(r"(\w)(\d)", "a1 b2 c3"), re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "x1y22"))
random.seed(7)
print(random.random(), random.sample(range(100), 5))
print(decimal.Decimal(1) / 7, fractions.Fraction(3, 9), 2 ** 200, 1e308 * 10, math.fsum([.1] * 10))
print(collections.Counter("mississippi").most_common(2), struct.pack("<IhQ", 1, -2, 3).hex())
with tempfile.TemporaryDirectory() as d:
    for i in range(50):
        with open(os.path.join(d, "f%d" % i), "w") as f:
            f.write("x" * i)
    print(sorted(os.path.getsize(e.path) for e in os.scandir(d))[-3:])
class E(Exception):
    pass
try:
    raise E("raised")
except E as e:
    print(repr(e))
def primes(n):
    s = bytearray([1]) * (n + 1)
    for i in range(2, n + 1):
        if s[i]:
            yield i
            s[i * i::i] = bytes(len(range(i * i, n + 1, i)))
print(sum(primes(200000)), len(sorted(str(i) for i in range(50000))))
print(datetime.datetime.fromtimestamp(86400 * 365, datetime.timezone.utc).isoformat())
print("to stderr", file=sys.stderr)
sys.exit(3)
EOT
$py t.py
echo "status $?"
PYTHONHASHSEED=0 $py -c 'print(hash("text"), {*"abc"})'
$py -c 'import sys; print(sys.stdin.read().upper())' <t.py | head -n 2
echo 'print(1' | $py - 2>/dev/null || echo "syntax error $?"
