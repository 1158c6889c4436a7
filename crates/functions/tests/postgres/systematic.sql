-- Writes cases over every operator and cast of PostgreSQL that Weft has, and over functions by
-- name, with samples of each type: psql -X -A -t -f systematic.sql -v what=...
\set ON_ERROR_STOP 1
create temporary table samples (type regtype, literal text, few boolean);
insert into samples select t::regtype, quote_literal(l) || '::' || t, f from (values
 ('int2', '0', true), ('int2', '7', true), ('int2', '-32768', false), ('int2', '32767', false),
 ('int4', '0', true), ('int4', '3', true), ('int4', '-2147483648', false), ('int4', '2147483647', false), ('int4', '-5', false),
 ('int8', '0', true), ('int8', '12', true), ('int8', '-9223372036854775808', false), ('int8', '9223372036854775807', false),
 ('float4', '0', true), ('float4', '1.5', true), ('float4', '-2.25', false), ('float4', 'NaN', false), ('float4', '3e38', false),
 ('float8', '0', true), ('float8', '2.5', true), ('float8', '-0.1', false), ('float8', 'NaN', false), ('float8', 'Infinity', false), ('float8', '-Infinity', false), ('float8', '1e308', false), ('float8', '0.5', false),
 ('numeric', '0', true), ('numeric', '1.5', true), ('numeric', '-12.340', false), ('numeric', 'NaN', false), ('numeric', 'Infinity', false), ('numeric', '123456789012345678901234567890.5', false), ('numeric', '0.0001', false),
 ('text', '', true), ('text', 'abc', true), ('text', 'Grüße, Wörld', false), ('text', 'a%b_c', false), ('text', '  x ', false), ('text', 'a,b,c', false),
 ('bytea', '\x', true), ('bytea', '\x00ff61', true), ('bytea', '\x616263', false),
 ('bool', 'true', true), ('bool', 'false', true),
 ('date', '2024-02-29', true), ('date', '1999-12-31', true), ('date', 'infinity', false), ('date', '0044-03-15 BC', false),
 ('time', '00:00:00', true), ('time', '13:45:06.789', true), ('time', '24:00:00', false),
 ('timetz', '13:45:06+02', true), ('timetz', '11:45:06+00', true),
 ('timestamp', '2024-02-29 12:34:56.789', true), ('timestamp', '1999-12-31 23:59:59', true), ('timestamp', '-infinity', false), ('timestamp', '2024-03-31 02:30:00', false),
 ('timestamptz', '2024-02-29 12:34:56.789+00', true), ('timestamptz', '2024-10-27 02:30:00+02', true), ('timestamptz', 'infinity', false),
 ('interval', '1 mon 2 days 03:04:05.6', true), ('interval', '-1 day', true), ('interval', '0', false), ('interval', '1 year -3 days 25:00:00', false),
 ('uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true), ('uuid', '00000000-0000-0000-0000-000000000000', true),
 ('jsonb', '{"a": 1, "b": [1, 2, null], "c": {"d": "x"}}', true), ('jsonb', '[1, "a", {"b": true}, null]', true), ('jsonb', '"abc"', false), ('jsonb', '1.50', false), ('jsonb', 'null', false), ('jsonb', '{}', false), ('jsonb', 'true', false),
 ('json', '{"a": 1, "b": [1, 2, null], "a": 2}', true), ('json', ' [1, "a", {"b": true}, null] ', true), ('json', '"x\u00e9"', false),
 ('int4[]', '{1,2,3}', true), ('int4[]', '{}', true), ('int4[]', '{3,NULL,2}', false), ('int4[]', '{{1,2},{3,4}}', false),
 ('text[]', '{a,b}', true), ('text[]', '{}', true), ('text[]', '{b,NULL,"x y"}', false),
 ('oid', '0', true), ('oid', '4294967295', false),
 ('name', 'abc', true), ('bpchar', 'abc  ', true), ('varchar', 'abc', true), ('"char"', 'a', true)
) as v(t, l, f);
insert into samples select distinct type, 'NULL::' || case type::text
  when 'smallint' then 'int2' when 'integer' then 'int4' when 'bigint' then 'int8' when 'real' then 'float4'
  when 'double precision' then 'float8' when 'boolean' then 'bool' when 'time without time zone' then 'time'
  when 'time with time zone' then 'timetz' when 'timestamp without time zone' then 'timestamp'
  when 'timestamp with time zone' then 'timestamptz' when 'character' then 'bpchar'
  when 'character varying' then 'varchar' when 'integer[]' then 'int4[]' else type::text end, false from samples;

\if :{?operators}
select distinct case when o.oprleft = 0 then o.oprname || ' ' || r.literal
    else l.literal || ' ' || o.oprname || ' ' || r.literal end
from pg_operator o
join samples r on r.type = case o.oprright::regtype::text when 'anyarray' then 'int4[]' when 'anycompatiblearray' then 'int4[]' when 'anycompatible' then 'int4' when 'anynonarray' then 'int4' else o.oprright::regtype::text end::regtype
left join samples l on l.type = case o.oprleft::regtype::text when '-' then 'oid' when 'anyarray' then 'int4[]' when 'anycompatiblearray' then 'int4[]' when 'anycompatible' then 'int4' when 'anynonarray' then 'int4' else o.oprleft::regtype::text end::regtype
where (o.oprleft = 0 and (l.literal is null or true) or o.oprleft <> 0 and l.literal is not null)
  and o.oprname <> all ('{@@,@?,~<~,~<=~,~>~,~>=~,*=,*<>,*<,*<=,*>,*>=}')
  and o.oprname !~ '^[<>]?[<>=]$' is distinct from (r.few is false and l.few is false)
  and (r.few or l.few or o.oprleft = 0 or o.oprname ~ '^[-+*/%]$')
  and not (o.oprname ~ '~' and r.literal like '%*%')
  and not (o.oprname in ('@>', '<@', '&&') and l.type::text = 'tsquery')
order by 1;
\endif
\if :{?casts}
select distinct s.literal || '::' || t
from samples s, unnest('{int2,int4,int8,float4,float8,numeric,text,bool,date,time,timetz,timestamp,timestamptz,interval,oid,name,"\"char\"",json,jsonb,bytea,uuid,int4[],text[],bpchar,varchar}'::text[]) t
where not (t = 'regclass')
order by 1;
\endif
\if :{?functions}
with wanted as (
  select p.oid, p.proname, p.proargtypes, array_length(p.proargtypes, 1) as n
  from pg_proc p
  where p.proname::text = any (string_to_array(:'functions', ','))
    and p.prokind = 'f' and not p.proretset and p.provariadic = 0
    and array_length(p.proargtypes, 1) <= 4
), args as (
  select w.oid, w.proname, w.n, i, s.literal, s.few
  from wanted w cross join lateral generate_series(0, w.n - 1) i
  join samples s on s.type = case w.proargtypes[i]::regtype::text
    when 'anyarray' then 'int4[]' when 'anyelement' then 'int4' when 'anynonarray' then 'int4'
    when 'anycompatiblearray' then 'int4[]' when 'anycompatible' then 'int4' else w.proargtypes[i]::regtype::text end::regtype
)
select distinct format('%s(%s)', a.proname, concat_ws(', ', a.literal, b.literal, c.literal, d.literal))
from args a
left join args b on b.oid = a.oid and b.i = 1
left join args c on c.oid = a.oid and c.i = 2
left join args d on d.oid = a.oid and d.i = 3
where a.i = 0 and (a.n < 2 or b.literal is not null) and (a.n < 3 or c.literal is not null) and (a.n < 4 or d.literal is not null)
  and (a.n < 3 or (a.few or b.few) and (b.few or c.few) and c.few and coalesce(d.few, true))
order by 1;
\endif
