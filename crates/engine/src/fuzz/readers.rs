//! The readers of single files.

use std::sync::Arc;

use index::fuzz::Choices;

use crate::{
    catalog::{
        ChangedTable, NAMES, NUMBERS_END, OBJECTS, TableEvent, TableEventKind,
        definition::{self, Definition, Kind, ObjectKey},
        view::CatalogView,
    },
    checkpoint::format::{
        CHUNK_HEADER_BYTES, Chunk, ChunkHeader, Content, append, seal as seal_chunk,
    },
    cold::{
        ColdAddress,
        format::{self as cold, ColdRecord},
    },
    fuzz::tamper,
    inspect::Blocks,
    log::format::{
        Appending, BLOCK_HEADER_BYTES, BlockHeader, Claim, SegmentHeader, seal as seal_block,
    },
    manifest::{
        CheckpointEntry, ColdFileEntry, Cut, History, HistoryFile, Manifest, PartEntry, Start,
    },
    recovery::scan::LogFile,
    timestamp::Timestamp,
    ttl::Ttl,
};

/// Returns the file that the bytes make of a valid file. If they begin with a zero, the rest is the
/// file itself.
fn tampered(data: &[u8], valid: Vec<u8>, mend: fn(&mut [u8])) -> Vec<u8> {
    let mut source = Choices::new(data);
    let kind = source.byte();
    if kind == 0 {
        return source.rest().to_vec();
    }
    let mut bytes = valid;
    tamper::change(&mut bytes, &mut source);
    if kind.is_multiple_of(2) {
        mend(&mut bytes);
    }
    bytes
}

const SEGMENT: SegmentHeader = SegmentHeader {
    database: 7,
    incarnation: 2,
    lane: 1,
    ordinal: 0,
};

fn log_file() -> Vec<u8> {
    let mut bytes = SEGMENT.encode().to_vec();
    bytes.resize(io::BLOCK_BYTES, 0);
    for number in 0..4 {
        let mut block = io::Buffer::zeroed(BLOCK_HEADER_BYTES);
        let newest = Timestamp(number * 2 + 2);
        for timestamp in [Timestamp(newest.0 - 1), newest] {
            let mut appending = Appending::begin(&mut block, timestamp);
            appending.write(0, b"key", Some(&vec![9; number as usize * 1500]));
            appending.write(1, b"another key", None);
            appending.end();
        }
        let header = BlockHeader {
            incarnation: SEGMENT.incarnation,
            lane: SEGMENT.lane,
            number,
            first: number * 2,
            transactions: 2,
            as_of: newest,
            newest,
            ..BlockHeader::default()
        };
        let claim = Claim {
            lane: 1,
            needed: number * 2 + 2,
            durable: number * 2,
        };
        seal_block(&mut block, header, &[Claim::default(), claim]);
        bytes.extend_from_slice(&block);
    }
    bytes
}

/// Reads all of a tampered log file.
pub fn log_reader(data: &[u8]) {
    let bytes = tampered(data, log_file(), tamper::mend_log);
    let file = LogFile {
        number: 0,
        bytes: bytes.len() as u64,
        header: SegmentHeader::decode(&bytes).unwrap_or(SEGMENT),
    };
    let mut blocks = Blocks::new(&bytes, &file);
    let mut read = 0;
    for (offset, block) in &mut blocks {
        assert!(offset as usize + block.header.bytes() <= bytes.len());
        read += block.vector().count();
        for transaction in block.transactions().flatten() {
            let writes = transaction.writes().flatten();
            read += writes.map(|write| write.key.len()).sum::<usize>();
        }
    }
    assert!(read <= bytes.len(), "more was read than is there");
    blocks.ending(0);
}

fn part() -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in 0..3 {
        let mut buffer = io::Buffer::zeroed(CHUNK_HEADER_BYTES);
        for record in 0..3_u32 {
            let content = match record {
                2 => Content::Cold(ColdAddress::new(4160, 100).unwrap()),
                _ => Content::Value(&[5; 1200]),
            };
            append(&mut buffer, &[chunk as u8, record as u8], content);
        }
        let header = ChunkHeader {
            database: 7,
            part: 3,
            chunk,
            table: 1,
            records: 3,
            is_last: chunk == 2,
            snapshot: Timestamp(9),
        };
        seal_chunk(&mut buffer, header);
        bytes.extend_from_slice(&buffer);
    }
    bytes
}

/// Reads all of a tampered checkpoint part.
pub fn checkpoint_reader(data: &[u8]) {
    let bytes = tampered(data, part(), tamper::mend_part);
    let (mut offset, mut read) = (0, 0);
    while let Some(rest) = bytes.get(offset..)
        && let Ok(chunk) = Chunk::decode(rest)
    {
        for (key, content) in chunk.records().flatten() {
            read += key.len() + content.value().map_or(8, <[u8]>::len);
        }
        offset += chunk.file_bytes();
    }
    assert!(read <= bytes.len(), "more was read than is there");
}

/// Offset and size in bytes of each cold record in the file.
pub(super) const COLD_RECORDS: [(usize, usize); 3] = [(64, 38), (112, 1537), (1664, 36)];

fn cold_file() -> Vec<u8> {
    let mut buffer = io::Buffer::zeroed(cold::BLOCK_HEADER_BYTES);
    for (start, bytes) in COLD_RECORDS {
        let record = ColdRecord {
            table: 1,
            begin: Timestamp(9),
            successor: Timestamp(7),
            key: b"key",
            stored: &vec![5; bytes - cold::RECORD_HEADER_BYTES - 3],
        };
        assert_eq!(record.append(&mut buffer), start);
    }
    let mut bytes = buffer.to_vec();
    tamper::mend_cold(&mut bytes);
    bytes
}

/// Reads all of a tampered cold file.
pub fn cold_reader(data: &[u8]) {
    let bytes = tampered(data, cold_file(), tamper::mend_cold);
    for start in (0..bytes.len()).step_by(16) {
        if let Ok(record) = ColdRecord::decode(&bytes[start..], start as u64) {
            let read = record.key.len() + record.stored.len();
            assert!(start + read <= bytes.len(), "more was read than is there");
        }
    }
}

pub(super) fn manifest() -> Manifest {
    let start = |lane| Start {
        lane,
        block: 8,
        transactions: 80,
        newest: Timestamp(240),
    };
    Manifest {
        database: 7,
        incarnation: 4,
        cuts: (1..4)
            .map(|incarnation| Cut {
                incarnation,
                up_to: Timestamp(incarnation * 100),
                ends: vec![(0, 7), (3, 1)],
            })
            .collect(),
        next_table: 4,
        checkpoint: Some(CheckpointEntry {
            number: 5,
            incarnation: 3,
            begin: Timestamp(250),
            end: Timestamp(260),
            starts: vec![start(0), start(3)],
            cold: vec![ColdFileEntry {
                number: 2,
                bytes: 4096,
            }],
            parts: vec![PartEntry {
                file: 12,
                table: 0,
                records: 1000,
                bytes: 4096,
            }],
        }),
        history: History {
            oldest: Timestamp(90),
            cuts: vec![(1, Timestamp(100))],
            files: vec![HistoryFile {
                number: 2,
                incarnation: 1,
                lane: 0,
                first_block: 3,
                blocks_end: 7,
                newest: Timestamp(95),
            }],
            events: vec![(Timestamp(92), vec![event()])],
        },
    }
}

fn event() -> TableEvent {
    TableEvent {
        table: Arc::new(ChangedTable {
            number: 3,
            storage: 6,
            name: "accounts".into(),
            description: Arc::from(*b"u64\0i64"),
            ttl: Ttl::of_micros(1 << 40),
        }),
        kind: TableEventKind::Truncated { storage: 5 },
    }
}

/// Reads a tampered manifest; a manifest that can be read is encoded again, and must decode to the
/// same.
pub fn manifest_reader(data: &[u8]) {
    let bytes = tampered(data, manifest().encode(), tamper::mend_manifest);
    if let Ok(manifest) = Manifest::decode(&bytes) {
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }
}

/// Returns keys and values of the catalog, for a table with an index.
fn catalog() -> Vec<(u32, Vec<u8>, Vec<u8>)> {
    let ttl = Ttl::of_micros(1 << 40);
    let table = (Kind::Table { storage: 5, ttl }, "accounts", 0);
    let index = (Kind::Index { unique: true }, "accounts by name", 6);
    let records = [table, index].into_iter().flat_map(|(kind, name, index)| {
        let key = ObjectKey { table: 2, index }.encode().to_vec();
        let definition = Definition {
            kind,
            name: name.to_owned(),
            description: b"u64\0i64".to_vec(),
        };
        [
            (OBJECTS, key.clone(), definition.encode()),
            (NAMES, name.as_bytes().to_vec(), key),
        ]
    });
    records.collect()
}

/// Reads tampered records of the catalog; a definition that can be read is encoded again, and must
/// decode to the same. A sound catalog can be searched both ways.
pub fn catalog_reader(data: &[u8]) {
    let mut source = Choices::new(data);
    let mut view = CatalogView::default();
    for (number, (table, mut key, mut value)) in catalog().into_iter().enumerate() {
        // Neither, one or both of key and value.
        let which = source.byte();
        for (bit, bytes) in [(1, &mut key), (2, &mut value)] {
            match which & (bit | bit << 2) {
                0 => {}
                all if all == bit | bit << 2 => *bytes = source.rest().to_vec(),
                _ => tamper::change(bytes, &mut source),
            }
        }
        if let Ok(definition) = Definition::decode(&value) {
            assert_eq!(Definition::decode(&definition.encode()), Ok(definition));
        }
        let numbers = definition::numbers(&key, Some(&value));
        assert!(numbers.into_iter().all(|number| number < NUMBERS_END));
        view.note(table, &key, Some(&value), Timestamp(number as u64 + 1));
    }
    if view.complaints().is_empty() {
        for (_, definition) in view.objects() {
            if let Kind::Table { storage, ttl } = definition.kind {
                assert_eq!(view.ttl_of(storage), ttl);
                assert_eq!(view.name_of(storage), Some(&*definition.name));
            }
        }
    }
}
