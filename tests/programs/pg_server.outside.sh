# pgbench against the server of pg_server.sh, through its socket; then a fast shutdown.
set -eu
until [ -S db/.s.PGSQL.5432 ] && bin/psql -h "$PWD/db" -U tester -d postgres -c 'select 1' >/dev/null 2>&1; do sleep 0.1; done
PGHOST=$PWD/db PGUSER=tester PGDATABASE=postgres
export PGHOST PGUSER PGDATABASE
bin/pgbench -q -i -s 1
bin/pgbench -c 4 -j 2 -t 50
[ "$(bin/psql -Atc 'select sum(abalance) - (select sum(delta) from pgbench_history) from pgbench_accounts')" = 0 ]
kill -INT "$(head -n 1 db/data/postmaster.pid)"
