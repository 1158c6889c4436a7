create table t (a int, b text, c text);
copy t from stdin csv;
1,plain,"quoted, with comma"
2,"with ""quotes""",
3,"",""
4,"two
lines",x
5,,"a"b"c"
\.
select a, replace(b, chr(10), '<newline>'), c from t order by a;
copy t to stdout csv;
copy t to stdout (format csv, header, force_quote *);
copy t to stdout (format csv, force_quote (b), quote '''', delimiter ';');
copy t to stdout with csv quote as '"' escape '\' null as 'n';
delete from t;
copy t from stdin (format csv, null 'n', force_not_null (b), force_null (c));
1,n,n
2,"n","n"
\.
select * from t order by a;
delete from t;
copy t from stdin (format csv, escape '\');
1,"a\"b\\c",d\e
\.
select * from t;
copy t from stdin csv;
2,"not ended,x
\.
copy t from stdin csv;
2,x
\.
copy t from stdin (format csv, header match);
a,"b",c
7,x,y
\.
copy t from stdin (format csv, header match);
a,B,c
7,x,y
\.
select * from t order by a;
copy (select '\.' as x union all select 'n') to stdout (format csv, null 'n');
copy t from stdin csv;
8,x,"y
z",more
\.
