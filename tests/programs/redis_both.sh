# redis-server and its clients in one recording: commands, pipelines, expiry, a background save, append-only file. Deterministic.
set -eu
redis-server --port 0 --unixsocket "$PWD/s" --save '' --appendonly yes --daemonize no --logfile log --dir "$PWD" &
cli="redis-cli -s s"
until $cli ping 2>/dev/null; do sleep 0.05; done
$cli set key value
$cli get key
for i in 1 2 3 4 5; do $cli rpush list $i; done
$cli lrange list 0 -1
seq 1 2000 | sed 's/.*/set k& v&/' | $cli --pipe 2>&1 | tail -n 1
$cli dbsize
$cli set gone soon px 30
sleep 0.1
$cli exists gone
$cli eval 'return redis.call("get", KEYS[1]) .. ARGV[1]' 1 key !
$cli bgsave
while [ "$($cli info persistence | grep -c bgsave_in_progress:1)" = 1 ]; do sleep 0.05; done
ls *.rdb
$cli bgrewriteaof
while [ "$($cli info persistence | grep -c aof_rewrite_in_progress:1)" = 1 ]; do sleep 0.05; done
$cli multi >/dev/null
$cli incr counter
$cli shutdown nosave
wait
[ -s log ] && echo logged
