# postgres: initdb, then queries by the single-user server. Not as root, so as nobody when root runs this. Times and ids differ.
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
grep Success log
$as "$bin/postgres" --single -D "$PWD/data" -F postgres <<'EOT'
create table t as select i, md5(i::text) m from generate_series(1, 20000) i
create index on t (m)
select count(*), max(m), sum(i) from t where m like 'a%'
EOT
