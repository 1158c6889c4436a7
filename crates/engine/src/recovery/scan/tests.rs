use io::{Buffer, Faults, SimulatedDisk};

use super::*;
use crate::log::format::{Appending, seal};

const HEADER: SegmentHeader = SegmentHeader {
    database: 7,
    incarnation: 2,
    lane: 1,
    ordinal: 0,
};

/// Makes a block of one transaction, of some thousand bytes.
fn block(number: u64, timestamp: u64) -> Buffer {
    let mut block = Buffer::zeroed(BLOCK_HEADER_BYTES);
    let mut appending = Appending::begin(&mut block, Timestamp(number + 1));
    appending.write(0, b"key", Some(&vec![9; number as usize * 3000]));
    appending.end();
    let header = BlockHeader {
        incarnation: HEADER.incarnation,
        lane: HEADER.lane,
        number,
        first: number,
        transactions: 1,
        as_of: Timestamp(timestamp),
        newest: Timestamp(number + 1),
        ..BlockHeader::default()
    };
    let claims = [0, 1].map(|lane| Claim {
        lane,
        needed: number,
        durable: number / 2,
    });
    seal(&mut block, header, &claims);
    block
}

/// Files with blocks of the given timestamps; three blocks in each.
struct Lane {
    disk: SimulatedDisk,
    files: Vec<LogFile>,
    /// Places of the blocks: file, and offset.
    blocks: Vec<(usize, u64)>,
}

fn lane(timestamps: &[u64]) -> Lane {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (mut files, mut blocks) = (Vec::new(), Vec::new());
    for (number, timestamps) in timestamps.chunks(3).enumerate() {
        let header = SegmentHeader {
            ordinal: number as u64,
            ..HEADER
        };
        let mut bytes = header.encode().to_vec();
        bytes.resize(BLOCK_BYTES, 0);
        for &timestamp in timestamps {
            let block = block(blocks.len() as u64, timestamp);
            blocks.push((number, bytes.len() as u64));
            bytes.extend_from_slice(&block);
        }
        bytes.resize(bytes.len() + 5 * BLOCK_BYTES, 0);
        let file = disk
            .directory()
            .open(&file_name(number as u64), OpenMode::Create, false);
        file.unwrap().write_at(&bytes, 0).unwrap();
        files.push(LogFile {
            number: number as u64,
            bytes: bytes.len() as u64,
            header,
        });
    }
    Lane {
        disk,
        files,
        blocks,
    }
}

impl Lane {
    fn scan(&self, look: Look) -> Result<LaneLog, OpenError> {
        let directory: Arc<dyn Directory> = self.disk.directory();
        scan_lane(&directory, &self.files, Expected::default(), look, false)
    }

    /// Destroys a byte of the payload of a block.
    fn rot(&self, block: usize) {
        let (file, offset) = self.blocks[block];
        let name = file_name(file as u64);
        self.disk.rot(&name, offset + 70..offset + 71, 1);
    }

    fn where_is(&self, block: usize, reason: Flaw) -> String {
        let (file, offset) = self.blocks[block];
        format!(
            "{:?}",
            OpenError::corrupt(file_name(file as u64), offset, reason)
        )
    }
}

fn both(lane: &Lane) -> [String; 2] {
    [Look::Through, Look::Ahead].map(|look| match lane.scan(look) {
        Ok(log) => format!("{log:?}"),
        Err(error) => format!("{error:?}"),
    })
}

#[test]
fn looking_ahead_finds_the_same() {
    let lane = lane(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let [through, ahead] = both(&lane);
    assert_eq!(through, ahead);
    let log = lane.scan(Look::Ahead).unwrap();
    assert_eq!((log.blocks, log.transactions, log.claims.len()), (8, 8, 8));
    assert_eq!(log.claims[7].vector[1].needed, 7);
    // The last block of a lane may be torn; the last block of a file with a successor may not.
    lane.rot(7);
    let [through, ahead] = both(&lane);
    assert_eq!(through, ahead);
    assert_eq!(lane.scan(Look::Ahead).unwrap().blocks, 7);
    lane.rot(5);
    let refusal = lane.where_is(5, Flaw::Checksum);
    assert_eq!(both(&lane), [refusal.clone(), refusal]);
}

#[test]
fn a_block_with_a_successor_is_left_to_loading() {
    let lane = lane(&[1, 2, 3]);
    let sound = format!("{:?}", lane.scan(Look::Through));
    lane.rot(1);
    let refusal = lane.where_is(1, Flaw::Checksum);
    assert_eq!(
        format!("{:?}", lane.scan(Look::Through).unwrap_err()),
        refusal
    );
    assert_eq!(format!("{:?}", lane.scan(Look::Ahead)), sound);
}

#[test]
fn a_clock_that_cannot_be_is_refused() {
    for block in 0..3 {
        let mut timestamps = [1, 2, 3];
        timestamps[block] = 1 << 63;
        let lane = lane(&timestamps);
        let refusal = lane.where_is(block, Flaw::Nonsense);
        assert_eq!(both(&lane), [refusal.clone(), refusal], "block {block}");
    }
}
