# A postgres server, recorded, that pg_server.outside.sh fills and asks by pgbench, and stops. Not as root. Times differ.
set -e
bin=$(dirname "$(readlink -f "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb | head -n 1)")")
mkdir db
as=
if [ "$(id -u)" = 0 ]; then
	chown 65534:65534 db
	chmod 711 .. .
	as='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
cd db
$as "$bin/initdb" -D "$PWD/data" -U tester -A trust --no-sync -E UTF8 --locale=C >log 2>&1 || { cat log; exit 1; }
ln -s "$bin" ../bin
exec $as "$bin/postgres" -D "$PWD/data" -F -h '' -k "$PWD" -p 5432 -c max_connections=20 -c shared_buffers=8MB \
	-c log_min_messages=log 2>&1
