# sqlite3: file, memory and WAL databases, transactions, two connections, a roll-back, dump and import, integrity. Deterministic.
set -eu
sqlite3 :memory: 'create table t(a int, b text); insert into t values (1, "x"), (2, "y"); select sum(a), group_concat(b) from t;'
sqlite3 file.db <<'EOT'
create table t(id integer primary key, k int, v text);
create index i on t(k);
begin;
with recursive c(n) as (select 1 union all select n + 1 from c where n < 5000)
insert into t(k, v) select (n * 7919) % 1009, printf('value %d', n) from c;
commit;
select count(*), sum(k), min(v), max(v) from t;
begin; delete from t where k < 500; select count(*) from t; rollback;
select count(*) from t;
explain query plan select * from t where k = 5;
EOT
sqlite3 file.db 'pragma journal_mode = wal; update t set v = upper(v) where id % 2; select v from t where id < 4;'
# A second connection (mapped shared memory of the WAL index) while the first holds a read transaction.
mkfifo in
sqlite3 file.db <in >reader.out &
exec 9>in
echo 'begin; select count(*) from t;' >&9
while [ ! -s reader.out ]; do sleep 0.01; done
sqlite3 file.db 'insert into t(k, v) values (1, "new"); select count(*) from t;'
ls file.db*
echo 'select count(*) from t; commit; select count(*) from t;' >&9
exec 9>&-
wait
cat reader.out
sqlite3 file.db 'pragma wal_checkpoint(truncate); pragma integrity_check; vacuum;'
sqlite3 file.db .dump | sqlite3 copy.db
sqlite3 copy.db 'select count(*), sum(length(v)) from t;'
sqlite3 -json file.db 'select id, v from t limit 2;'
sqlite3 file.db 'select nonsense;' 2>/dev/null || echo "error $?"
seq 1 2000 | sqlite3 -cmd 'create table n(x int)' -cmd '.import /dev/stdin n' :memory: 'select sum(x) from n'
