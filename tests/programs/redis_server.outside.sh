# Loads redis_server.sh from outside of the recording and shuts it down.
set -eu
while [ ! -e port ]; do sleep 0.05; done
p=$(cat port)
until redis-cli -h 127.0.0.1 -p "$p" ping 2>/dev/null; do sleep 0.05; done
redis-benchmark -h 127.0.0.1 -p "$p" -n 3000 -c 10 -P 4 -q -t ping,set,get,lpush,mset
redis-benchmark -s s -n 500 -c 5 -q -t incr
redis-cli -s s set last word
redis-cli -s s shutdown nosave || :
