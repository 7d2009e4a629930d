# coreutils on text and data: sort, uniq, comm, join, cut, tr, split, dd, od, checksums, seq, shuf, tee, timeout. Deterministic.
set -eu
seq 1 20000 | awk '{ print ($1 * 7919) % 10007, "line", $1 }' >data
sort data | md5sum
sort -n -k1,1 -k3,3nr data | sha1sum
sort -R --random-source=data data | sha256sum
sort -u -t' ' -k1,1 -S 1M --parallel=2 data | wc -l
cut -d' ' -f1 data | sort -n | uniq -c | sort -rn | head -n 3
tr a-z A-Z <data | tail -n 2
head -c 100 data | od -A d -t x1z | tail -n 3
split -l 5000 -d data part.
cat part.* | cmp - data && wc -l part.*
csplit -s -f c. data 100 '{3}'
wc -l c.*
dd if=/dev/zero of=zeros bs=4096 count=300 2>/dev/null
dd if=zeros bs=1000 skip=5 count=10 2>/dev/null | cksum
dd if=data of=conv conv=ucase,notrunc bs=512 seek=2 2>/dev/null
b2sum conv
truncate -s 1000000 zeros
md5sum zeros >sums
md5sum -c sums
base64 data | base64 -d | cmp - data
comm --nocheck-order -12 part.00 part.01 | wc -l
seq 5 | paste - - data 2>/dev/null | head -n 3
join -j 1 -t' ' part.02 part.03 2>/dev/null | head -n 1 || :
nl -b a data | tac | head -n 2
fold -w 10 data | head -n 2
expand -t 4 data | unexpand -a | head -n 1
$(command -v env) printf '%s %05d %x %q\n' word 42 255 'a b'
factor 123456789012345
numfmt --to=iec 123456789
date -u -d @1234567890 '+%F %T %j'
env -i A=1 B=2 env | sort
echo tee | tee t1 t2 >t3 && cat t1 t2 t3
timeout 0.2 sleep 5 || echo "timeout $?"
timeout -s KILL 0.2 sleep 5 || echo "timeout $?"
nice -n 5 nice
nohup echo without a terminal 2>/dev/null
printf 'b a\nc b\n' | tsort
shuf -i 1-10 -n 10 --random-source=data | paste -s -d,
test -e data -a ! -d data && echo test works
yes | head -n 100000 | wc -c
sync
sum data
ptx -w 40 <<-EOT | head -n 3
	the quick brown fox
EOT
expr 6 '*' 7
stdbuf -oL echo buffered
