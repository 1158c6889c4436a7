create table t (a int primary key, b text, c numeric(6,2) default 7.5);
copy t from stdin;
1	one	1.005
2	\N	\N
3		-3
\.
copy t (b, a) from stdin;
tab\there	4
new\nline and \\ and \x41\101\q	5
literal \	tab	6
\\N	7
\.
select a, replace(replace(b, chr(9), '<tab>'), chr(10), '<newline>'), c from t order by a;
copy t to stdout;
copy t (c, a) to stdout with (delimiter ';', null '-', header);
copy (select b, a from t where a > 3 order by a desc) to stdout;
copy t from stdin with delimiter '|' null 'none';
10|none|none
11|\none|1
12|a\|b|2
\.
select a, b, c from t where a >= 10 order by a;
copy t from stdin (header);
any	thing	here
20	x	1
\.
copy t from stdin (header match);
a	b	c
21	x	1
\.
copy t from stdin (header match);
a	b	d
22	x	1
\.
copy t from stdin (header match);
a	b
22	x
\.
copy t from stdin (header match);
a	\N	c
22	x	1
\.
copy t from stdin;
30	x
\.
copy t from stdin;
30	x	1	2
\.
copy t from stdin;
30	x	1
x30	x	1
\.
copy t from stdin;
30	x	12345.6
\.
copy t from stdin;
31	x	1
32	x	1
31	y	1
\.
copy t from stdin;
\N	x	1
\.
select count(*) from t;
create table checked (a int check (a > 0), b varchar(3), c int generated always as (a * 2) stored);
copy checked from stdin;
1	abc
2	abcd
\.
copy checked from stdin;
1	abc
-2	a
\.
copy checked from stdin;
5	abc
6	ab  
\.
copy checked (a, c) from stdin;
select a, b, c from checked order by a;
copy checked to stdout;
copy checked (c) to stdout;
copy checked from stdin;
1	a very long line of more than a hundred bytes, which is cut off where it is shown in the context of the message it is in
\.
copy checked from stdin;
5	\xe9
\.
copy nothere from stdin;
copy t (a, nothere) from stdin;
copy t (a, a) from stdin;
copy t (a) to stdout (force_quote (a));
copy (delete from t where a > 10) to stdout;
copy (delete from t where a > 10 returning a) to stdout;
copy (values (1, null), (2, 'b')) to stdout null 'nix';
copy (select 1 as one) to stdout binary csv;
