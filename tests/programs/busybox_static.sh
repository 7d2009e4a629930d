# busybox (static): a shell with many applets, all from the one binary. Deterministic.
exec busybox sh -c '
set -e
busybox seq 1 100 | busybox awk "{ s += \$1 } END { print s }"
busybox printf "b\na\nc\n" | busybox sort | busybox paste -s
busybox mkdir -p d/e
busybox echo text >d/e/f
busybox find d | busybox sort
busybox tar -cf t.tar d
busybox tar -tf t.tar
busybox gzip -c d/e/f | busybox gunzip -c
busybox md5sum d/e/f
busybox sed s/text/changed/ d/e/f
busybox ls -l d/e | busybox wc -l
busybox expr 6 \* 7
(busybox sleep 1 & busybox kill $!; wait $! 2>/dev/null || echo "waited")
busybox vi -h >/dev/null 2>&1 || true
x=$(busybox cat d/e/f | busybox tr a-z A-Z)
echo "$x"
busybox dd if=/dev/zero bs=1000 count=50 2>/dev/null | busybox md5sum
busybox env -i A=b busybox env
busybox rm -r d t.tar
exit 9
'
