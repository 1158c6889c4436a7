-- Answers the cases that stand in the table `cases`: see regenerate.sh.
set timezone = 'Europe/Berlin';
set datestyle = 'ISO, MDY';
create function pg_temp.answer(line text) returns text language plpgsql as $$
declare
  answer text;
  parts text[];
begin
  if line = '' or line like '#%' then
    return line;
  elsif line like 'rows %' then
    execute format(
      'select coalesce(array_agg(x::text)::text, ''{}'') from %s as x', substr(line, 6)) into answer;
  elsif line like 'aggregate %' then
    parts := regexp_match(line, '^aggregate (.*) from (.*)$');
    execute format(
      'select pg_typeof(x)::text || '' '' || coalesce(quote_literal(x::text), ''NULL'')
       from (select %s as x from unnest(%s) as t(%s)) as s',
      parts[1], parts[2], case when parts[1] ~ '\yb\y' then 'a, b' else 'a' end) into answer;
  else
    -- Either name alone begins a construct of the grammar.
    execute format(
      'select pg_typeof(x)::text || '' '' || coalesce(quote_literal(x::text), ''NULL'')
       from (select %s as x) as s', regexp_replace(line, '^(extract|position)\(', 'pg_catalog."\1"(')) into answer;
  end if;
  return line || ' => ' || replace(answer, E'\n', '⏎');
exception when others then
  return line || ' => error ' || sqlstate;
end $$;
