-- Views of the standard's schema over pg_catalog. Columns are in relations.txt, which also says
-- their types. Everybody may see everything, so no view looks at privileges.

view information_schema.information_schema_catalog_name as
select pg_catalog.current_database();

view information_schema.schemata as
select pg_catalog.current_database(), n.nspname, pg_catalog.pg_get_userbyid(n.nspowner), null, null,
    null, null
from pg_catalog.pg_namespace n;

view information_schema.character_sets as
select null, null, 'UTF8', 'UCS', 'UTF8', pg_catalog.current_database(), 'pg_catalog', 'C';

view information_schema.collations as
select pg_catalog.current_database(), n.nspname, c.collname, 'NO PAD'
from pg_catalog.pg_collation c
join pg_catalog.pg_namespace n on n.oid = c.collnamespace;

view information_schema.enabled_roles as
select rolname
from pg_catalog.pg_authid
where pg_catalog.pg_has_role(oid, 'USAGE');

view information_schema.applicable_roles as
select m.rolname, r.rolname, case when a.admin_option then 'YES' else 'NO' end
from pg_catalog.pg_auth_members a
join pg_catalog.pg_authid m on m.oid = a.member
join pg_catalog.pg_authid r on r.oid = a.roleid;

view information_schema.tables as
select pg_catalog.current_database(), n.nspname, c.relname,
    case c.relkind when 'v' then 'VIEW' when 'f' then 'FOREIGN' else 'BASE TABLE' end,
    null, null, null, null, null,
    case when c.relkind = 'v' then 'NO' else 'YES' end, 'NO', null
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'v', 'f', 'p');

view information_schema.views as
select pg_catalog.current_database(), n.nspname, c.relname, pg_catalog.pg_get_viewdef(c.oid),
    'NONE', 'NO', 'NO', 'NO', 'NO', 'NO'
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'v';

view information_schema.columns as
select pg_catalog.current_database(), n.nspname, c.relname, a.attname, a.attnum,
    case when a.attgenerated = '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
    case when a.attnotnull then 'NO' else 'YES' end,
    case
        when t.typelem <> 0 and t.typlen = -1 then 'ARRAY'
        when tn.nspname = 'pg_catalog' then pg_catalog.format_type(t.oid, null)
        else 'USER-DEFINED'
    end,
    case when t.oid in (1042, 1043) and a.atttypmod <> -1 then a.atttypmod - 4 end,
    case
        when t.oid in (25, 1042, 1043) and a.atttypmod <> -1 then (a.atttypmod - 4) * 4
        when t.oid in (25, 1042, 1043) then 1073741824
    end,
    case t.oid
        when 21 then 16 when 23 then 32 when 20 then 64 when 700 then 24 when 701 then 53
        when 1700 then case when a.atttypmod <> -1 then ((a.atttypmod - 4) >> 16) & 65535 end
    end,
    case when t.oid in (20, 21, 23, 700, 701) then 2 when t.oid = 1700 then 10 end,
    case
        when t.oid in (20, 21, 23) then 0
        when t.oid = 1700 and a.atttypmod <> -1 then (a.atttypmod - 4) & 65535
    end,
    case
        when t.oid = 1082 then 0
        when t.oid in (1083, 1114, 1184, 1266) and a.atttypmod < 0 then 6
        when t.oid in (1083, 1114, 1184, 1266) then a.atttypmod
        when t.oid = 1186 and a.atttypmod < 0 then 6
        when t.oid = 1186 then a.atttypmod & 65535
    end,
    null, null, null, null, null,
    case when co.collname <> 'default' then pg_catalog.current_database() end,
    case when co.collname <> 'default' then con.nspname end,
    case when co.collname <> 'default' then co.collname end,
    null, null, null, pg_catalog.current_database(), tn.nspname, t.typname, null, null, null, null,
    a.attnum, 'NO', case when a.attidentity in ('a', 'd') then 'YES' else 'NO' end,
    case a.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end,
    s.seqstart, s.seqincrement, s.seqmax, s.seqmin,
    case when s.seqcycle then 'YES' else 'NO' end,
    case when a.attgenerated <> '' then 'ALWAYS' else 'NEVER' end,
    case when a.attgenerated <> '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
    case when c.relkind = 'v' then 'NO' else 'YES' end
from pg_catalog.pg_attribute a
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_type t on t.oid = a.atttypid
join pg_catalog.pg_namespace tn on tn.oid = t.typnamespace
left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_catalog.pg_collation co on co.oid = a.attcollation
left join pg_catalog.pg_namespace con on con.oid = co.collnamespace
left join pg_catalog.pg_depend dep on dep.refclassid = 1259 and dep.refobjid = a.attrelid
    and dep.refobjsubid = a.attnum and dep.classid = 1259 and dep.deptype = 'i'
left join pg_catalog.pg_sequence s on s.seqrelid = dep.objid
where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'f', 'p');

view information_schema.column_udt_usage as
select pg_catalog.current_database(), tn.nspname, t.typname, pg_catalog.current_database(),
    n.nspname, c.relname, a.attname
from pg_catalog.pg_attribute a
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_type t on t.oid = a.atttypid
join pg_catalog.pg_namespace tn on tn.oid = t.typnamespace
where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'f', 'p');

view information_schema.element_types as
select pg_catalog.current_database(), n.nspname, c.relname,
    case when c.relkind = 'v' then 'VIEW' else 'TABLE' end, a.attnum,
    case
        when en.nspname = 'pg_catalog' then pg_catalog.format_type(e.oid, null)
        else 'USER-DEFINED'
    end,
    null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    pg_catalog.current_database(), en.nspname, e.typname, null, null, null, null,
    'a' || a.attnum
from pg_catalog.pg_attribute a
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_type t on t.oid = a.atttypid and t.typelem <> 0 and t.typlen = -1
join pg_catalog.pg_type e on e.oid = t.typelem
join pg_catalog.pg_namespace en on en.oid = e.typnamespace
where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'f', 'p');

view information_schema.table_constraints as
select pg_catalog.current_database(), cn.nspname, o.conname, pg_catalog.current_database(),
    n.nspname, c.relname,
    case o.contype
        when 'c' then 'CHECK' when 'f' then 'FOREIGN KEY' when 'p' then 'PRIMARY KEY'
        when 'u' then 'UNIQUE'
    end,
    case when o.condeferrable then 'YES' else 'NO' end,
    case when o.condeferred then 'YES' else 'NO' end,
    'YES',
    case
        when o.contype = 'u' then (
            select case when i.indnullsnotdistinct then 'NO' else 'YES' end
            from pg_catalog.pg_index i
            where i.indexrelid = o.conindid)
    end
from pg_catalog.pg_constraint o
join pg_catalog.pg_class c on c.oid = o.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_namespace cn on cn.oid = o.connamespace
union all
select pg_catalog.current_database(), n.nspname,
    n.oid || '_' || c.oid || '_' || a.attnum || '_not_null', pg_catalog.current_database(),
    n.nspname, c.relname, 'CHECK', 'NO', 'NO', 'YES', null
from pg_catalog.pg_attribute a
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where a.attnotnull and a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p');

view information_schema.check_constraints as
select pg_catalog.current_database(), n.nspname, o.conname,
    substr(pg_catalog.pg_get_constraintdef(o.oid), 7)
from pg_catalog.pg_constraint o
join pg_catalog.pg_namespace n on n.oid = o.connamespace
where o.contype = 'c'
union all
select pg_catalog.current_database(), n.nspname,
    n.oid || '_' || c.oid || '_' || a.attnum || '_not_null', a.attname || ' IS NOT NULL'
from pg_catalog.pg_attribute a
join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where a.attnotnull and a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p');

view information_schema.key_column_usage as
select pg_catalog.current_database(), cn.nspname, o.conname, pg_catalog.current_database(),
    n.nspname, c.relname, a.attname, k.position,
    case
        when o.contype = 'f' then (
            select u.position
            from pg_catalog.pg_index i, unnest(i.indkey) with ordinality u (number, position)
            where i.indexrelid = o.conindid and u.number = o.confkey[k.position])
    end
from pg_catalog.pg_constraint o
join pg_catalog.pg_class c on c.oid = o.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_namespace cn on cn.oid = o.connamespace
cross join lateral unnest(o.conkey) with ordinality k (number, position)
join pg_catalog.pg_attribute a on a.attrelid = o.conrelid and a.attnum = k.number
where o.contype in ('p', 'u', 'f');

view information_schema.constraint_column_usage as
select pg_catalog.current_database(), n.nspname, c.relname, a.attname,
    pg_catalog.current_database(), cn.nspname, o.conname
from pg_catalog.pg_constraint o
join pg_catalog.pg_namespace cn on cn.oid = o.connamespace
join pg_catalog.pg_class c on c.oid = case when o.contype = 'f' then o.confrelid else o.conrelid end
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid
    and a.attnum = any (case when o.contype = 'f' then o.confkey else o.conkey end)
where not a.attisdropped;

view information_schema.constraint_table_usage as
select pg_catalog.current_database(), n.nspname, c.relname, pg_catalog.current_database(),
    cn.nspname, o.conname
from pg_catalog.pg_constraint o
join pg_catalog.pg_namespace cn on cn.oid = o.connamespace
join pg_catalog.pg_class c on c.oid = case when o.contype = 'f' then o.confrelid else o.conrelid end
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where o.contype in ('p', 'u', 'f');

view information_schema.referential_constraints as
select pg_catalog.current_database(), cn.nspname, o.conname,
    case when u.conname is not null then pg_catalog.current_database() end, un.nspname, u.conname,
    case o.confmatchtype when 'f' then 'FULL' when 'p' then 'PARTIAL' when 's' then 'NONE' end,
    case o.confupdtype
        when 'c' then 'CASCADE' when 'n' then 'SET NULL' when 'd' then 'SET DEFAULT'
        when 'r' then 'RESTRICT' when 'a' then 'NO ACTION'
    end,
    case o.confdeltype
        when 'c' then 'CASCADE' when 'n' then 'SET NULL' when 'd' then 'SET DEFAULT'
        when 'r' then 'RESTRICT' when 'a' then 'NO ACTION'
    end
from pg_catalog.pg_constraint o
join pg_catalog.pg_namespace cn on cn.oid = o.connamespace
left join pg_catalog.pg_constraint u on u.conindid = o.conindid and u.contype in ('p', 'u')
left join pg_catalog.pg_namespace un on un.oid = u.connamespace
where o.contype = 'f';

view information_schema.sequences as
select pg_catalog.current_database(), n.nspname, c.relname,
    pg_catalog.format_type(s.seqtypid, null),
    case s.seqtypid when 21 then 16 when 23 then 32 else 64 end, 2, 0, s.seqstart, s.seqmin,
    s.seqmax, s.seqincrement, case when s.seqcycle then 'YES' else 'NO' end
from pg_catalog.pg_sequence s
join pg_catalog.pg_class c on c.oid = s.seqrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where not exists (
    select 1 from pg_catalog.pg_depend d
    where d.classid = 1259 and d.objid = c.oid and d.deptype = 'i');

view information_schema.view_table_usage as
select distinct pg_catalog.current_database(), vn.nspname, v.relname,
    pg_catalog.current_database(), n.nspname, c.relname
from pg_catalog.pg_depend d
join pg_catalog.pg_rewrite r on r.oid = d.objid and d.classid = 2618
join pg_catalog.pg_class v on v.oid = r.ev_class
join pg_catalog.pg_namespace vn on vn.oid = v.relnamespace
join pg_catalog.pg_class c on c.oid = d.refobjid and d.refclassid = 1259
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid <> v.oid;

view information_schema.view_column_usage as
select distinct pg_catalog.current_database(), vn.nspname, v.relname,
    pg_catalog.current_database(), n.nspname, c.relname, a.attname
from pg_catalog.pg_depend d
join pg_catalog.pg_rewrite r on r.oid = d.objid and d.classid = 2618
join pg_catalog.pg_class v on v.oid = r.ev_class
join pg_catalog.pg_namespace vn on vn.oid = v.relnamespace
join pg_catalog.pg_class c on c.oid = d.refobjid and d.refclassid = 1259
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
where c.oid <> v.oid;

view information_schema.table_privileges as
select pg_catalog.pg_get_userbyid(c.relowner), pg_catalog.pg_get_userbyid(c.relowner),
    pg_catalog.current_database(), n.nspname, c.relname, p.privilege, 'YES',
    case when p.privilege = 'SELECT' then 'YES' else 'NO' end
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join (
    values ('INSERT'), ('SELECT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'),
        ('TRIGGER')) p (privilege)
where c.relkind in ('r', 'v', 'f', 'p');

view information_schema.role_table_grants as
select * from information_schema.table_privileges;

view information_schema.column_privileges as
select pg_catalog.pg_get_userbyid(c.relowner), pg_catalog.pg_get_userbyid(c.relowner),
    pg_catalog.current_database(), n.nspname, c.relname, a.attname, p.privilege, 'YES'
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid
cross join (values ('INSERT'), ('SELECT'), ('UPDATE'), ('REFERENCES')) p (privilege)
where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'v', 'f', 'p');
