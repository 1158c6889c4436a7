-- Views of pg_catalog over its tables. Columns are in relations.txt, which also says their types.

view pg_catalog.pg_roles as
select rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
    rolconnlimit, '********', rolvaliduntil, rolbypassrls, null, oid
from pg_catalog.pg_authid;

view pg_catalog.pg_shadow as
select rolname, oid, rolcreatedb, rolsuper, rolreplication, rolbypassrls, rolpassword,
    rolvaliduntil, null
from pg_catalog.pg_authid
where rolcanlogin;

view pg_catalog.pg_user as
select usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, '********', valuntil,
    useconfig
from pg_catalog.pg_shadow;

view pg_catalog.pg_group as
select rolname, oid, array(select member from pg_catalog.pg_auth_members where roleid = oid)
from pg_catalog.pg_authid
where not rolcanlogin;

view pg_catalog.pg_tables as
select n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner), null, c.relhasindex,
    c.relhasrules, c.relhastriggers, c.relrowsecurity
from pg_catalog.pg_class c
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p');

view pg_catalog.pg_views as
select n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner),
    pg_catalog.pg_get_viewdef(c.oid)
from pg_catalog.pg_class c
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'v';

view pg_catalog.pg_matviews as
select n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner), null, c.relhasindex,
    c.relispopulated, pg_catalog.pg_get_viewdef(c.oid)
from pg_catalog.pg_class c
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'm';

view pg_catalog.pg_indexes as
select n.nspname, c.relname, i.relname, null, pg_catalog.pg_get_indexdef(i.oid)
from pg_catalog.pg_index x
join pg_catalog.pg_class c on c.oid = x.indrelid
join pg_catalog.pg_class i on i.oid = x.indexrelid
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace;

view pg_catalog.pg_sequences as
select n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner), s.seqtypid, s.seqstart,
    s.seqmin, s.seqmax, s.seqincrement, s.seqcycle, s.seqcache, null
from pg_catalog.pg_sequence s
join pg_catalog.pg_class c on c.oid = s.seqrelid
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace;

view pg_catalog.pg_rules as
select n.nspname, c.relname, r.rulename, pg_catalog.pg_get_ruledef(r.oid)
from pg_catalog.pg_rewrite r
join pg_catalog.pg_class c on c.oid = r.ev_class
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where r.rulename <> '_RETURN';

view pg_catalog.pg_available_extensions as
select extname, extversion, extversion, null
from pg_catalog.pg_extension;

view pg_catalog.pg_stat_all_tables as
select c.oid, n.nspname, c.relname, 0, 0, 0, 0, 0, 0, 0, 0, greatest(c.reltuples, 0), 0, 0, 0,
    null, null, null, null, 0, 0, 0, 0
from pg_catalog.pg_class c
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 't', 'm', 'p');

view pg_catalog.pg_stat_user_tables as
select *
from pg_catalog.pg_stat_all_tables
where schemaname not in ('pg_catalog', 'information_schema');

view pg_catalog.pg_stat_all_indexes as
select c.oid, i.oid, n.nspname, c.relname, i.relname, 0, 0, 0
from pg_catalog.pg_index x
join pg_catalog.pg_class c on c.oid = x.indrelid
join pg_catalog.pg_class i on i.oid = x.indexrelid
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace;

view pg_catalog.pg_stat_user_indexes as
select *
from pg_catalog.pg_stat_all_indexes
where schemaname not in ('pg_catalog', 'information_schema');

view pg_catalog.pg_timezone_names as
select 'UTC', 'UTC', interval '0', false;
