//! Statements that work, of every kind, for the fuzzer to edit. They are ASCII alone, so that a
//! text can be cut at each byte.

/// Statements that make and fill the tables.
pub(super) const SETUP: &str = "\
create schema s; create sequence q; create type mood as enum ('sad', 'ok');
create table t (a int primary key, b int, c text, d numeric(8, 2), e boolean, f date);
create index on t (b, c); create index on t (lower(c)) where b > 0;
create table u (a int references t on update cascade on delete cascade, g int, c text, \
    primary key (a, c), check (g < 1000));
create table s.w (k serial, m mood, j jsonb, r int[], p timestamptz default now());
insert into t select i, i % 3, 'c' || i, i * 1.5, i % 2 = 0, date '2024-01-01' + i \
    from generate_series(1, 20) i;
insert into u select i, i, 'u' || i from generate_series(1, 10) i;
insert into s.w (m, j, r) values ('ok', '{\"a\": [1, {\"b\": null}]}', '{1,2,3}'), ('sad', '[]', '{}');
create view x as select t.a, u.g from t join u on t.a = u.a";

/// Statement that works whatever was sent before.
pub(super) const PROBE: &str = "select count(*) from pg_catalog.pg_class";

/// Statements to edit: see the module text.
pub(super) const SEEDS: &[&str] = &[
    "select 1 + 1 + 1",
    "select * from t where a = 1 or a = 2 or b = 3 and not e",
    "select a, b from t union all select a, g from u union select 1, 2 except select 3, 4",
    "select a::int::text::varchar, 'x' || 'y' || c from t",
    "select case when a > 3 then 'x' when b is null then 'y' else c end from t",
    "select coalesce(nullif(a, 1), greatest(b, 2), least(3, a)) from t",
    "select * from (select * from (select a, b from t) y) z where z.a in (select a from u)",
    "with r as (select a from t), r2 as (select a from r) select count(*) from r2, r",
    "with recursive r(n) as (values (1) union all select n + 1 from r where n < 50) select sum(n) from r",
    "select replace(replace(c, 'a', 'b'), 'c', 'd') from t",
    "select array[1, 2] || array[3, 4], array[1, 2, 3], (array[1, 2, 3])[1:2]",
    "select row(1, 2) < row(a, b), (a, b) in ((1, 2), (3, 4)) from t",
    "select t.a, count(*), sum(d), string_agg(c, ',' order by c desc) filter (where b > 0) from t group by a having count(*) > 0 order by 2 desc, 1 limit 3 offset 1",
    "select b, e, grouping(b, e), count(distinct c) from t group by grouping sets ((b), (e), ()), rollup (a)",
    "select a, sum(d) over (partition by b order by a rows between 2 preceding and 1 following), rank() over w from t window w as (order by b desc nulls last)",
    "select * from t left join u on t.a = u.a and u.g > 2 full join s.w on w.k = t.a",
    "select * from t, lateral (select g from u where u.a = t.a limit 1) l",
    "select exists (select 1 from u where u.a = t.a), (select max(g) from u where u.a < t.a) from t",
    "select a from t where a not in (select g from u) and b = any (array[1, 2]) and c like 'c%'",
    "select distinct on (b) b, a from t order by b, a desc",
    "select a, b from t where b > 0 order by a limit 3 for update skip locked",
    "select a from t where c ~ '^c[0-9]+$' and c similar to '(c|d)%' and regexp_replace(c, '(.)', '\\1\\1') <> ''",
    "select j -> 'a' -> 1 ->> 'b', j #>> '{a,0}', jsonb_array_length(j -> 'a') from s.w where j @> '{\"a\": []}'",
    "select to_char(now(), 'YYYY-MM-DD HH24:MI:SS'), extract(epoch from f), date_trunc('month', f), f + interval '1 day 02:03' from t",
    "select unnest(r), generate_series(1, 3), k from s.w",
    "select 1e10::numeric ^ 3, 12345678901234567890 % 7, round(2.5), 1.0 / 3, 5 / 2",
    "values (1, 'a'), (2, 'b') order by 1 desc fetch first 1 rows only",
    "insert into t (a, b, c) values (100, 1, 'n'), (101, default, null) returning a, b + 1",
    "insert into t select a + 1000, b, c from t on conflict (a) do update set b = excluded.b + t.b where t.a > 3",
    "update t set b = b + 1, c = upper(t.c) from u where u.a = t.a and u.g in (1, 2, 3) returning t.*",
    "delete from u using t where t.a = u.a and t.b = 1 returning u.a",
    "merge into t using u on t.a = u.a when matched and u.g > 5 then delete when matched then update set b = u.g when not matched then insert (a, b) values (u.a + 500, u.g)",
    "with d as (delete from u where g < 3 returning a) insert into t (a) select a + 300 from d",
    "create table n (a int primary key, b text default 'its', c int generated always as (a * 2) stored, unique (b), foreign key (a) references t)",
    "create table n2 as select a, sum(g) from u group by a",
    "create index n_i on t (c desc nulls last, (a + b)) where a > 3",
    "create view y as select a, c || 'x' as z from t where b = 1",
    "create type colour as enum ('red', 'green')",
    "alter table s.w add column z int default 5, drop column r, alter column m set not null",
    "alter table s.w rename column j to jj",
    "alter table u drop constraint u_pkey cascade",
    "drop table t cascade",
    "truncate t, u restart identity",
    "create sequence qq increment by 2 minvalue 1 maxvalue 100 cycle",
    "select nextval('q'), currval('q'), setval('q', 5)",
    "explain (analyze, costs off, format json) select * from t join u using (a)",
    "prepare p (int, text) as select * from t where a = $1 and c = $2",
    "prepare p2 as select 1; execute p2; deallocate p2",
    "declare k cursor for select * from t; fetch 2 from k; close k",
    "savepoint y1; insert into t (a) values (77); rollback to y1; release y1",
    "set search_path = s, public; select * from w; show search_path",
    "set local work_mem = '1MB'; reset all",
    "copy (select a, c from t) to stdout with (format csv, header)",
    "comment on table t is 'x'; analyze t",
    "lock table t in share row exclusive mode",
    "select 'a' collate \"C\" < 'b', cast('1' as int), int4 '2', E'a\\n\\'b', $$dollar$$, U&'\\0041'",
    "select relname, attname from pg_class c join pg_attribute a on a.attrelid = c.oid where relkind = 'r' and attnum > 0",
    "select table_name, column_name from information_schema.columns where table_schema = 'public'",
    "select pg_get_indexdef(indexrelid), pg_get_expr(indpred, indrelid) from pg_index",
    "select $1, ?, :x, @y, #z",
    "commit; begin; select 1 /* comment /* nested */ */ -- end",
];
