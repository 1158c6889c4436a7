//! Columns of all shapes, written, opened and read.

use super::*;
use crate::CellError;

/// Returns columns of all shapes, with their names.
fn columns(rows: usize, state: &mut u64) -> Vec<(&'static str, Vec<Cell>)> {
    let mut all = Vec::new();
    let mut add = |name, cell: &mut dyn FnMut(u64) -> Cell| {
        all.push((name, (0..rows as u64).map(cell).collect()));
    };
    let integer = |value: u64| Cell::Integer(value.cast_signed());
    add("absent", &mut |_| Cell::Absent);
    add("constant", &mut |_| Cell::Integer(i64::MIN));
    add("ascending", &mut |row| integer(row * 3));
    add("bits", &mut |_| integer(random(state) % 2));
    add("range of 32 bits", &mut |row| match row {
        0 => Cell::Integer(-5),
        1 => Cell::Integer(-5 + i64::from(u32::MAX)),
        _ => integer(random(state) % 1000),
    });
    add("range of 33 bits", &mut |row| match row {
        0 => Cell::Integer(-5),
        1 => Cell::Integer(-4 + i64::from(u32::MAX)),
        _ => integer(random(state) >> 32),
    });
    add("extremes", &mut |row| {
        Cell::Integer([i64::MIN, i64::MAX, 0][row as usize % 3])
    });
    add("wide", &mut |_| integer(random(state)));
    add("few wide", &mut |_| integer((random(state) % 10) << 55));
    add("few of 20 bits", &mut |_| {
        integer((random(state) % 5) << 18)
    });
    add("sparse", &mut |_| match random(state) {
        value if value.is_multiple_of(40) => Cell::Integer(1 << 40),
        _ => Cell::Absent,
    });
    add("half", &mut |_| match random(state) {
        value if value.is_multiple_of(2) => integer(1000 + value % 50),
        _ => Cell::Absent,
    });
    add("absent at the ends", &mut |row| {
        let is_inner = row > 0 && row + 1 < rows as u64;
        if is_inner {
            integer(7 + row % 2)
        } else {
            Cell::Absent
        }
    });
    add("wide with absent", &mut |_| match random(state) {
        value if value.is_multiple_of(3) => Cell::Absent,
        value => integer(value),
    });
    add("few wide with absent", &mut |_| match random(state) {
        value if value.is_multiple_of(3) => Cell::Absent,
        value => integer((value % 7) << 50),
    });
    add("prices", &mut |_| {
        Cell::Decimal((random(state) % 100_000).cast_signed() - 500, 2)
    });
    add("scales", &mut |row| match random(state) {
        value if value.is_multiple_of(9) => Cell::Absent,
        value => Cell::Decimal(value.cast_signed(), (row % 256) as u8),
    });
    add("empty", &mut |_| Cell::Bytes(Vec::new()));
    add("one text", &mut |_| {
        Cell::Bytes(b"always one and more than thirty-two bytes".to_vec())
    });
    add("letters", &mut |_| {
        Cell::Bytes(vec![b'a' + (random(state) % 3) as u8])
    });
    add("modes", &mut |_| {
        let modes: [&[u8]; 4] = [b"", b"AIR", b"TRUCK", b"\xff\x00"];
        Cell::Bytes(modes[random(state) as usize % 4].to_vec())
    });
    add("phones", &mut |_| {
        Cell::Bytes(format!("{:015}", random(state) % 1_000_000_007).into_bytes())
    });
    add("comments", &mut |_| {
        let bytes = random(state) % 60;
        Cell::Bytes((0..bytes).map(|_| random(state) as u8).collect())
    });
    add("long", &mut |row| {
        let mut value = vec![b'x'; 40 + row as usize % 3];
        value[35..37].copy_from_slice(&(random(state) as u16).to_le_bytes());
        Cell::Bytes(value)
    });
    add("modes with absent", &mut |_| match random(state) % 3 {
        0 => Cell::Absent,
        value => Cell::Bytes(vec![value as u8; 3]),
    });
    add("comments with absent", &mut |_| match random(state) {
        value if value.is_multiple_of(3) => Cell::Absent,
        value => Cell::Bytes(value.to_le_bytes()[..value as usize % 8].to_vec()),
    });
    add("one text with absent", &mut |_| match random(state) % 3 {
        0 => Cell::Absent,
        _ => Cell::Bytes(b"one".to_vec()),
    });
    all
}

#[test]
fn columns_of_all_shapes_are_read_as_they_were_written() {
    let mut state = 1;
    for rows in [0, 1, 2, 3, 63, 64, 65, 200, 4096] {
        let (_, columns): (Vec<_>, Vec<_>) = columns(rows, &mut state).into_iter().unzip();
        let block = block_of(&columns);
        check_block(&block, &columns);
        assert!(block.memory_bytes() >= size_of_val(block.words()));
        let again = Block::open(block.words().to_vec()).unwrap();
        check_block(&again, &columns);
    }
}

#[test]
fn the_greatest_block_is_read_as_it_was_written() {
    let (_, columns): (Vec<_>, Vec<_>) = columns(ROWS_MAX, &mut 2).into_iter().unzip();
    check_block(&block_of(&columns), &columns);
}

#[test]
fn no_rows_are_read_of_a_range_that_ends_before_its_start() {
    let (_, columns): (Vec<_>, Vec<_>) = columns(100, &mut 5).into_iter().unzip();
    let block = block_of(&columns);
    let range = |start, end| start..end;
    for number in 0..columns.len() {
        if let Values::Integers(integers) = block.column(number).values() {
            let mut read = vec![7];
            integers.read(range(50, 30), &mut read);
            integers.read(range(usize::MAX, 100), &mut read);
            assert_eq!(read, [7]);
        }
    }
}

#[test]
fn blocks_without_columns_are_opened() {
    let block = block_of(&[]);
    assert_eq!((block.rows(), block.columns()), (0, 0));
    check_block(&Block::open(block.words().to_vec()).unwrap(), &[]);
}

/// Returns the form of a column.
fn form(column: &Column<'_>) -> &'static str {
    let of_integers = |integers: &crate::Integers<'_>| match integers {
        _ if integers.constant().is_some() => "constant",
        _ if integers.packed().is_some() => "packed",
        _ if integers.dictionary().is_some() => "dictionary",
        _ => "plain",
    };
    match column.values() {
        Values::Absent => "absent",
        Values::Integers(integers) => of_integers(&integers),
        Values::Decimals { numbers, .. } => of_integers(&numbers),
        Values::Bytes(bytes) => match bytes {
            _ if bytes.constant().is_some() => "constant",
            _ if bytes.dictionary().is_some() => "dictionary",
            _ => "plain",
        },
    }
}

#[test]
fn columns_take_their_smallest_forms() {
    let (names, columns): (Vec<_>, Vec<_>) = columns(4096, &mut 3).into_iter().unzip();
    let block = block_of(&columns);
    let found: Vec<_> = names
        .into_iter()
        .enumerate()
        .map(|(number, name)| {
            let column = block.column(number);
            (name, form(&column), column.bytes())
        })
        .collect();
    let marks = 512;
    let packed = |width: usize| width * 512;
    let expected = [
        ("absent", "absent", 0..=0),
        ("constant", "constant", 0..=0),
        ("ascending", "packed", packed(14)..=packed(14)),
        ("bits", "packed", packed(1)..=packed(1)),
        ("range of 32 bits", "packed", packed(32)..=packed(32)),
        ("range of 33 bits", "plain", packed(64)..=packed(64)),
        ("extremes", "dictionary", packed(2) + 24..=packed(2) + 24),
        ("wide", "plain", packed(64)..=packed(64)),
        ("few wide", "dictionary", packed(4) + 80..=packed(4) + 80),
        (
            "few of 20 bits",
            "dictionary",
            packed(3) + 40..=packed(3) + 40,
        ),
        ("sparse", "constant", marks..=marks),
        ("half", "packed", marks + packed(6)..=marks + packed(6)),
        (
            "absent at the ends",
            "packed",
            marks + packed(1)..=marks + packed(1),
        ),
        (
            "wide with absent",
            "plain",
            marks + packed(64)..=marks + packed(64),
        ),
        (
            "few wide with absent",
            "dictionary",
            marks + packed(3)..=marks + packed(3) + 56,
        ),
        ("prices", "packed", packed(17)..=packed(17)),
        ("scales", "plain", marks + packed(72)..=marks + packed(72)),
        ("empty", "constant", 0..=0),
        ("one text", "constant", 48..=48),
        ("letters", "dictionary", packed(2) + 8..=packed(2) + 8),
        ("modes", "dictionary", packed(2)..=packed(2) + 100),
        ("phones", "plain", 15 * 4096..=15 * 4096),
        ("comments", "plain", packed(17)..=packed(17) + 32 * 4096),
        ("long", "plain", packed(18)..=packed(18) + 43 * 4096),
        (
            "modes with absent",
            "dictionary",
            marks + packed(1)..=marks + packed(1) + 8,
        ),
        (
            "comments with absent",
            "plain",
            packed(14)..=packed(16) + 4 * 4096,
        ),
        ("one text with absent", "constant", marks + 8..=marks + 8),
    ];
    for ((name, form, bytes), expected) in found.iter().zip(&expected) {
        let is_as_expected = (*name, *form) == (expected.0, expected.1);
        assert!(
            is_as_expected && expected.2.contains(bytes),
            "{name}: {form}, {bytes}; {expected:?}"
        );
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn random_columns_are_read_as_they_were_written() {
    let mut state = 4;
    let mut builder = Builder::new(6).unwrap();
    for _ in 0..if cfg!(miri) { 2 } else { 300 } {
        let rows = random(&mut state) as usize % 300;
        let columns: Vec<Vec<Cell>> = (0..6)
            .map(|_| {
                let kind = random(&mut state) % 3;
                let absent = [0, 1, 10, 100][random(&mut state) as usize % 4];
                let shift = random(&mut state) % 64;
                let distinct = 1 + random(&mut state) % 300;
                let mut cell = || {
                    if random(&mut state) % 100 < absent {
                        return Cell::Absent;
                    }
                    let value = ((random(&mut state) % distinct) << shift).cast_signed();
                    match kind {
                        0 => Cell::Integer(value),
                        1 => Cell::Decimal(value, (random(&mut state) % 2) as u8),
                        _ => Cell::Bytes(
                            value
                                .to_string()
                                .repeat(1 + shift as usize / 40)
                                .into_bytes(),
                        ),
                    }
                };
                (0..rows).map(|_| cell()).collect()
            })
            .collect();
        // The memory of one block serves the next.
        builder.clear();
        fill(&mut builder, &columns);
        let block = builder.finish().unwrap();
        check_block(&block, &columns);
        check_block(&Block::open(block.words().to_vec()).unwrap(), &columns);
    }
}

#[test]
fn kinds_do_not_mix() {
    let add = |kind: usize, cells: &mut Cells| match kind {
        0 => cells.integer(1),
        1 => cells.decimal(1, 0),
        _ => cells.bytes(b"1"),
    };
    for first in 0..3 {
        for second in 0..3 {
            let mut builder = Builder::new(1).unwrap();
            let cells = builder.cells(0);
            cells.absent().unwrap();
            add(first, cells).unwrap();
            let expected = if first == second {
                Ok(())
            } else {
                Err(CellError::Mixed)
            };
            assert_eq!(add(second, cells), expected);
            assert_eq!(cells.rows(), 2 + usize::from(first == second));
            builder.finish().unwrap().verify().unwrap();
            builder.clear();
            add(second, builder.cells(0)).unwrap();
            assert_eq!(builder.finish().unwrap().rows(), 1);
        }
    }
}
