//! The memory of decoders.

use types::{Allowance, NoNames, Scalar, Settings, Type, TypeModifier};

use super::*;
use crate::fuzz::table;
use syntax::copy::{Argument, CopyOption};

const MIB: usize = 1 << 20;

/// A decoder of rows of texts, and the limit on its memory.
struct Limited {
    decoder: Decoder,
    memory: Rc<Memory>,
    rows: Rows,
}

impl Limited {
    fn new(format: &str, scalars: &[Scalar], bytes_max: usize) -> Limited {
        let columns = scalars.iter().map(|scalar| Column {
            name: "label".into(),
            ty: Type::Scalar(*scalar),
            modifier: TypeModifier::NONE,
        });
        let format = CopyOption {
            name: "format".to_owned(),
            value: Argument::Word(format.to_owned()),
            position: None,
        };
        let options = Options::of(&[format], true).unwrap();
        let memory = Memory::new(&Allowance::unlimited(), bytes_max);
        Limited {
            decoder: Decoder::new(table(), columns.collect(), options, &memory).unwrap(),
            memory,
            rows: Rows::new(scalars.len()),
        }
    }

    fn next(&mut self) -> Result<bool> {
        let settings = Settings::default();
        let context = Context {
            settings: &settings,
            names: &NoNames,
            now: 0,
        };
        self.decoder.next(&context, &mut self.rows)
    }
}

/// Each field of a line took 24 bytes that no limit knew of, whether its table had a column for it or not: 256 MB of
/// tabs took 6 GB.
#[test]
fn fields_without_a_column_take_no_memory() {
    for (format, delimiter, end) in [
        ("text", b'\t', "\n"),
        ("text", b'\t', "\\t\n"),
        ("csv", b',', "\n"),
        ("csv", b',', "\"\"\n"),
    ] {
        let mut limited = Limited::new(format, &[Scalar::Text; 2], 4 * MIB);
        let line = [&vec![delimiter; MIB], end.as_bytes()].concat();
        limited.decoder.push(&line).unwrap();
        let error = limited.next().unwrap_err();
        assert_eq!(error.message(), "extra data after last expected column");
        let bytes = limited.decoder.fields.bytes();
        assert!(bytes < MIB + 1000, "{bytes} bytes for {format} and {end:?}");
    }
}

/// Fields without their escapes and quotes, and values that are larger than their texts, were held without a charge.
#[test]
fn fields_and_values_are_charged() {
    let text = "x".repeat(MIB);
    for (format, scalar, line) in [
        ("text", Scalar::Text, format!("\\t{text}\n")),
        ("csv", Scalar::Text, format!("\"{text}\"\n")),
        ("text", Scalar::Bytea, format!("{text}\n")),
    ] {
        let mut small = Limited::new(format, &[scalar], 3 * MIB / 2);
        small.decoder.push(line.as_bytes()).unwrap();
        let error = small.next().unwrap_err();
        assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{format}");
        let mut large = Limited::new(format, &[scalar], 8 * MIB);
        large.decoder.push(line.as_bytes()).unwrap();
        assert!(large.next().unwrap());
        let used = large.memory.used();
        assert!(used > 2 * MIB, "{used} bytes are charged for {format}");
        drop(large.decoder);
        assert_eq!(large.memory.used(), 0);
    }
}

/// A buffer that was full was doubled before the memory was asked for: only the new bytes had been.
#[test]
fn a_buffer_grows_within_its_memory() {
    let mut limited = Limited::new("text", &[Scalar::Text], 3 * MIB);
    limited.decoder.push(&vec![b'x'; 2 * MIB]).unwrap();
    let room = limited.decoder.bytes.capacity();
    let error = limited.decoder.push(b"x").unwrap_err();
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY);
    assert_eq!(limited.decoder.bytes.capacity(), room);
}
