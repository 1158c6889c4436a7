-- Fills in what PostgreSQL answers; run by regenerate.sh.
\set QUIET on
\set ON_ERROR_STOP on
set client_min_messages = warning;

create schema weft_types;
set search_path = weft_types, pg_catalog;

create table forms (line serial, setting text, type text, input text,
    state text, message text, detail text, hint text, output text, sent text);

-- The text and binary forms of an input, or the error.
create function form(inout f forms) language plpgsql as $$
declare
    name text := split_part(f.setting, '=', 1);
    sender text;
begin
    f.state := '00000';
    f.message := '';
    f.detail := '';
    f.hint := '';
    f.output := null;
    f.sent := null;
    if name <> '' then
        perform set_config(name, split_part(f.setting, '=', 2), true);
    end if;
    begin
        select typsend into sender from pg_type where oid = f.type::regtype;
        execute format('select format(''%%s'', v), encode(%s(v), ''hex'') from (select %L::%s) s(v)',
            sender, f.input, f.type) into f.output, f.sent;
    exception when others then
        get stacked diagnostics f.state = returned_sqlstate, f.message = message_text,
            f.detail = pg_exception_detail, f.hint = pg_exception_hint;
    end;
    if name <> '' then
        execute format('reset %I', name);
    end if;
end $$;

set time zone 'UTC';
set datestyle = 'ISO, MDY';
\copy forms (setting, type, input) from program 'cut -f 1-3 forms.tsv'
update forms f set (state, message, detail, hint, output, sent) =
    (select g.state, g.message, g.detail, g.hint, g.output, g.sent from form(f) g);
\copy (select setting, type, input, state, message, detail, hint, output, sent from forms order by line) to 'forms.tsv'

create table arithmetic (line serial, operation text, one text, two text, result text);

create function calculate(operation text, one text, two text) returns text language plpgsql as $$
declare
    state text;
    result text;
begin
    execute case
        when operation in ('+', '-', '*', '/', '%', '<=>')
            then format(case operation when '<=>'
                then 'select pg_catalog.numeric_cmp(%L, %L)::text'
                else 'select (%L::numeric ' || replace(operation, '%', '%%') || ' %L::numeric)::text' end,
                one, two)
        when operation in ('round', 'trunc')
            then format('select %s(%L::numeric, %L::integer)::text', operation, one, two)
        when operation in ('div', 'power')
            then format('select %s(%L::numeric, %L::numeric)::text', operation, one, two)
        when operation in ('bigint', 'integer', 'smallint', 'double precision', 'real')
            then format('select (%L::numeric)::%s::text', one, operation)
        when operation = 'from double precision'
            then format('select (%L::double precision)::numeric::text', one)
        when operation = 'from real'
            then format('select (%L::real)::numeric::text', one)
        else format('select %s(%L::numeric)::text', operation, one)
    end into result;
    return result;
exception when others then
    get stacked diagnostics state = returned_sqlstate;
    return '!' || state;
end $$;

\copy arithmetic (operation, one, two) from program 'cut -f 1-3 arithmetic.tsv'
update arithmetic set result = calculate(operation, one, two);
\copy (select operation, one, two, result from arithmetic order by line) to 'arithmetic.tsv'

create table ranks (line serial, type text, input text, rank text);
\copy ranks (type, input) from program 'cut -f 1-2 order.tsv'
do $$
declare t text;
begin
    for t in select distinct type from ranks loop
        execute format('update ranks r set rank = s.rank from (select line,
            dense_rank() over (order by input::%s) as rank from ranks where type = %L) s
            where r.line = s.line', t, t);
    end loop;
end $$;
\copy (select type, input, rank from ranks order by type, rank::integer, line) to 'order.tsv'

drop schema weft_types cascade;
