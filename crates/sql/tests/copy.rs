//! COPY: scripts with data (`copy/*.sql`), whose output (`copy/*.out`) is that of psql with
//! PostgreSQL 15.
//!
//! With `WEFT_ASK_POSTGRES` set to a connection string of a database that may be thrown away, the
//! outputs are written anew. Weft is given the data in pieces of several sizes.
//!
//! psql looks for the end of its data itself: an end marker of a script is never seen by PostgreSQL, and data without a
//! last newline cannot be written in one. Such data (`copy/ends.out`) is read by PostgreSQL from files, for which it
//! has to be on the machine of the test.

use std::{
    fmt::Write as _,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::bed::Bed;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/copy")
}

fn runs_as_postgresql_does(name: &str) {
    let script = folder().join(format!("{name}.sql"));
    let expected = folder().join(format!("{name}.out"));
    if let Ok(postgres) = std::env::var("WEFT_ASK_POSTGRES") {
        let shown = ask(&postgres, File::open(&script).unwrap());
        fs::write(&expected, shown).unwrap();
    }
    let expected = fs::read_to_string(expected).unwrap();
    let script = fs::read_to_string(script).unwrap();
    for piece_bytes in [1, 2, 3, 7, 1 << 20] {
        let found = run(&script, piece_bytes);
        let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{name}, in pieces of {piece_bytes} bytes");
        assert_eq!(expected.len(), found.len(), "{found}");
    }
}

/// Returns psql's output with PostgreSQL, without the places of errors in their statements.
fn ask(postgres: &str, script: File) -> String {
    let psql = |input: Stdio, arguments: &[&str]| {
        let mut psql = Command::new("sh");
        psql.args([
            "-c",
            "exec psql \"$@\" 2>&1",
            "psql",
            postgres,
            "-X",
            "-A",
            "-t",
        ]);
        let output = psql.args(arguments).stdin(input).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let emptied = "drop schema if exists public cascade; create schema public";
    psql(Stdio::null(), &["-c", emptied]);
    let shown = psql(script.into(), &["-P", "null=NULL"]);
    let mut lines = shown.lines();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        match line.starts_with("LINE ") {
            true => drop(lines.next()),
            false => writeln!(kept, "{line}").unwrap(),
        }
    }
    kept
}

/// Returns the output in psql's form with Weft.
fn run(script: &str, piece_bytes: usize) -> String {
    let mut bed = Bed::new();
    let mut shown = String::new();
    let mut rest = script;
    while let Some((statement, after)) = rest.split_once(";\n") {
        rest = after;
        let mut data = "";
        // If no statement comes first, the data reaches up to its end marker.
        if statement.contains("from stdin")
            && let Some(end) = rest.find("\n\\.\n")
            && !rest[..end].contains(";\n")
        {
            (data, rest) = rest.split_at(end + 4);
        }
        let reply = bed.run_with(statement, data.as_bytes(), piece_bytes);
        show(statement, reply, &mut shown);
    }
    assert_eq!(rest, "", "a script ends with a statement");
    shown
}

fn show(statement: &str, reply: Result<crate::bed::Answer, types::SqlError>, shown: &mut String) {
    let answer = match reply {
        Ok(answer) => answer,
        Err(error) => {
            writeln!(shown, "ERROR:  {}", error.message()).unwrap();
            // Weft says what it expected where PostgreSQL says nothing.
            let is_syntax = error.state() == types::SqlState::SYNTAX_ERROR;
            let fields = [
                ("DETAIL", error.detail_text().filter(|_| !is_syntax)),
                ("HINT", error.hint_text()),
                ("CONTEXT", error.context_text()),
            ];
            for (name, text) in fields {
                if let Some(text) = text {
                    writeln!(shown, "{name}:  {text}").unwrap();
                }
            }
            return;
        }
    };
    for row in &answer.rows {
        writeln!(shown, "{}", row.join("|")).unwrap();
    }
    shown.push_str(std::str::from_utf8(&answer.copied).unwrap());
    // psql shows no tag behind rows, nor behind data.
    if answer.fields.is_empty() && !statement.contains("to stdout") {
        answer
            .tags
            .iter()
            .for_each(|tag| writeln!(shown, "{tag}").unwrap());
    }
}

#[test]
fn text() {
    runs_as_postgresql_does("text");
}

#[test]
fn csv() {
    runs_as_postgresql_does("csv");
}

#[test]
fn options() {
    runs_as_postgresql_does("options");
}

/// Tables that data with all kinds of ends is copied into.
const TEXTS: &str = "create table texts1 (a text); create table texts2 (a text, b text);";

/// Data of a COPY into `texts1` or `texts2`.
struct End {
    table: &'static str,
    options: &'static str,
    data: String,
}

impl End {
    fn title(&self) -> String {
        format!("{}, {}: {:?}", self.table, self.options, self.data)
    }

    fn copy(&self, source: &str) -> String {
        format!("copy {} from {source} with ({})", self.table, self.options)
    }

    fn rows(&self) -> String {
        format!("table {}", self.table)
    }
}

/// Returns data with all kinds of ends, in the order of `copy/ends.out`.
fn ends() -> Vec<End> {
    let heads = ["", "a", "a\n", "a\r", "a\r\n"];
    let tails = [
        "", "\\.", "\\.\n", "\\.\r", "\\.x", "\\", "b", "\\.\r\n", "\\.\nb\n", "\\.\r\nb", "\\.\rb",
    ];
    let mut ends = Vec::new();
    for options in [
        "format text",
        "format csv",
        "format text, header",
        "format csv, header",
        "format text, header match",
        "format csv, header match",
    ] {
        for (table, head, tail) in ["texts1", "texts2"]
            .into_iter()
            .flat_map(|table| heads.map(|head| (table, head)))
            .flat_map(|(table, head)| tails.map(|tail| (table, head, tail)))
        {
            // PostgreSQL goes on reading a file behind a marker at the end of a line, though not a client's data.
            if head == "a" && tail.starts_with("\\.") && tail.len() > 3 {
                continue;
            }
            ends.push(End {
                table,
                options,
                data: format!("{head}{tail}"),
            });
        }
    }
    ends
}

/// Returns what PostgreSQL makes of all ends, which it reads from files.
fn ask_for_ends(postgres: &str) -> String {
    let folder = std::env::temp_dir().join(format!("weft-copy-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let mut script = format!("\\set QUIET on\n{TEXTS}\n");
    for (number, end) in ends().iter().enumerate() {
        let data = folder.join(number.to_string());
        fs::write(&data, &end.data).unwrap();
        let copy = end.copy(&format!("'{}'", data.display()));
        let (title, rows, table) = (end.title(), end.rows(), end.table);
        // psql takes escapes out of what it prints, as PostgreSQL does out of strings.
        let title = title.replace('\\', "\\\\");
        writeln!(
            script,
            "\\qecho '{title}'\n\\set QUIET off\n{copy};\n\\set QUIET on\n{rows};\ntruncate {table};"
        )
        .unwrap();
    }
    let path = folder.join("script");
    fs::write(&path, script).unwrap();
    let shown = ask(postgres, File::open(&path).unwrap());
    fs::remove_dir_all(&folder).unwrap();
    shown
}

/// A last row `\.` of CSV without a newline was dropped in silence, text that ended in the middle of a marker was
/// taken, and markers behind lines that end in `\r` were refused. Names that had to be those of the columns were not
/// missed in empty data.
#[test]
fn data_ends_where_postgresqls_does() {
    let expected = folder().join("ends.out");
    if let Ok(postgres) = std::env::var("WEFT_ASK_POSTGRES") {
        fs::write(&expected, ask_for_ends(&postgres)).unwrap();
    }
    let expected = fs::read_to_string(expected).unwrap();
    for piece_bytes in [1, 2, 1 << 20] {
        let mut bed = Bed::new();
        bed.run(TEXTS).unwrap();
        let mut found = String::new();
        for end in ends() {
            writeln!(found, "{}", end.title()).unwrap();
            let copy = end.copy("stdin");
            let reply = bed.run_with(&copy, end.data.as_bytes(), piece_bytes);
            show(&copy, reply, &mut found);
            let rows = end.rows();
            show(&rows, bed.run(&rows), &mut found);
            bed.run(&format!("truncate {}", end.table)).unwrap();
        }
        let context: Vec<_> = expected.lines().zip(found.lines()).collect();
        let differs = context.iter().position(|(a, b)| a != b);
        let before = differs.map(|at| &context[at.saturating_sub(3)..=at]);
        assert_eq!(before, None, "in pieces of {piece_bytes} bytes");
        assert_eq!(expected.len(), found.len());
    }
}

/// PostgreSQL's binary output for `binary_table`.
const BINARY: &str = "5047434f50590aff0d0a00000000000000000000040000000400000001000000036f6e650000\
                      000c000200000000000200011388000000010100040000000400000002ffffffffffffffff00\
                      00000100ffff";

fn binary_table() -> Bed {
    let mut bed = Bed::new();
    bed.run("create table b (a int, t text, n numeric(5, 2), x bool)")
        .unwrap();
    bed
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

#[test]
fn binary_data_is_postgresqls() {
    let mut bed = binary_table();
    let copy = "copy b from stdin (format binary)";
    for piece_bytes in [1, 3, 1000] {
        let reply = bed.run_with(copy, &bytes(BINARY), piece_bytes).unwrap();
        assert_eq!(reply.tags, ["COPY 2"]);
        let given = bed
            .run("copy (select * from b order by a) to stdout binary")
            .unwrap();
        assert_eq!(given.copied, bytes(BINARY));
        let rows = bed.run("delete from b returning *").unwrap().rows;
        assert_eq!(rows[0], ["1", "one", "1.50", "t"]);
        assert_eq!(rows[1], ["2", "NULL", "NULL", "f"]);
    }
}

#[test]
fn binary_data_that_is_damaged_says_where() {
    let mut bed = binary_table();
    let whole = bytes(BINARY);
    let with = |at: usize, byte: u8| {
        let mut changed = whole.clone();
        changed[at] = byte;
        changed
    };
    let cases = [
        (b"".to_vec(), "COPY file signature not recognized", None),
        (with(0, b'X'), "COPY file signature not recognized", None),
        (
            whole[..14].to_vec(),
            "invalid COPY file header (missing flags)",
            None,
        ),
        (
            whole[..18].to_vec(),
            "invalid COPY file header (missing length)",
            None,
        ),
        (with(12, 1), "invalid COPY file header (WITH OIDS)", None),
        (
            with(20, 5),
            "row field count is 5, expected 4",
            Some("COPY b, line 1"),
        ),
        (
            whole[..40].to_vec(),
            "unexpected EOF in COPY data",
            Some("COPY b, line 1"),
        ),
        (
            [&whole[..], b"x"].concat(),
            "received copy data after EOF marker",
            Some("COPY b, line 3"),
        ),
    ];
    for (data, message, context) in cases {
        for piece_bytes in [1, 1000] {
            let copy = "copy b from stdin (format binary)";
            let error = bed.run_with(copy, &data, piece_bytes).unwrap_err();
            assert_eq!(error.state().code(), "22P04");
            assert_eq!(error.message(), message);
            assert_eq!(error.context_text(), context, "{message}");
        }
    }
    assert_eq!(bed.run("select count(*) from b").unwrap().rows[0], ["0"]);
}

/// There are more rows than in a batch, so that a row's place in the data is not that in its batch.
#[test]
fn the_line_of_an_error_is_counted_over_all_batches() {
    let mut bed = Bed::new();
    bed.run("create table t (a int primary key, b int)")
        .unwrap();
    let rows = |last: &str| {
        let rows: Vec<String> = (1..=1000).map(|row| format!("{row}\t{row}\n")).collect();
        rows.concat() + last
    };
    let mut copy = |data: &str| bed.run_with("copy t from stdin", data.as_bytes(), 100);
    let error = copy(&rows("700\t1\n")).unwrap_err();
    assert_eq!(error.state().code(), "23505");
    assert_eq!(error.context_text(), Some("COPY t, line 1001"));
    let error = copy(&rows("\\N\t1\n")).unwrap_err();
    assert_eq!(error.context_text(), Some("COPY t, line 1001: \"\\N\t1\""));
    let within = rows("").replace("\n998\t", "\n997\t");
    let error = copy(&within).unwrap_err();
    assert_eq!(error.context_text(), Some("COPY t, line 998"));
    assert_eq!(copy(&rows("")).unwrap().tags, ["COPY 1000"]);
    // The first of two rows with an existing key is reported, whether the second is next to it or
    // far behind.
    for apart in [0, 50] {
        let between = 2000..2000 + apart;
        let between = between.map(|key| format!("{key}\t1\n"));
        let data = format!("1001\t1\n7\t1\n{}7\t1\n", between.collect::<String>());
        let error = copy(&data).unwrap_err();
        assert_eq!(error.state().code(), "23505");
        assert_eq!(error.context_text(), Some("COPY t, line 2"), "{apart}");
    }
    let sum = "select count(*), sum(a), sum(b) from t";
    assert_eq!(bed.run(sum).unwrap().rows[0], ["1000", "500500", "500500"]);
}
