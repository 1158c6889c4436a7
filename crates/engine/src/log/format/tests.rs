use super::*;

fn block() -> (io::Buffer, BlockHeader, [Claim; 2]) {
    let mut buffer = io::Buffer::zeroed(BLOCK_HEADER_BYTES);
    let mut first = Appending::begin(&mut buffer, Timestamp(7));
    first.write(3, b"key", Some(b"value"));
    first.write(4, b"", None);
    first.end();
    let mut second = Appending::begin(&mut buffer, Timestamp(9));
    second.write(3, b"other", Some(b""));
    second.end();
    let header = BlockHeader {
        incarnation: 2,
        lane: 1,
        number: 11,
        first: 40,
        transactions: 2,
        as_of: Timestamp(10),
        newest: Timestamp(9),
        ..BlockHeader::default()
    };
    let vector = [0, 1].map(|lane| Claim {
        lane,
        needed: 42 + u64::from(lane),
        durable: 39,
    });
    seal(&mut buffer, header, &vector);
    (buffer, header, vector)
}

#[test]
fn a_block_reads_as_it_was_written() {
    let (buffer, written, vector) = block();
    assert_eq!(buffer.len(), BLOCK_BYTES);
    let block = Block::decode(&buffer).unwrap();
    assert_eq!(block.file_bytes(), BLOCK_BYTES);
    let header = BlockHeader {
        payload_bytes: 0,
        lanes: 0,
        ..block.header
    };
    assert_eq!(header, written);
    assert_eq!(block.vector().collect::<Vec<_>>(), vector);
    let transactions: Vec<_> = block.transactions().map(Result::unwrap).collect();
    assert_eq!(transactions.len(), 2);
    assert_eq!(transactions[0].timestamp, Timestamp(7));
    let writes: Vec<_> = transactions[0].writes().map(Result::unwrap).collect();
    let put = LoggedWrite {
        table: 3,
        key: b"key",
        value: Some(b"value"),
    };
    let delete = LoggedWrite {
        table: 4,
        key: b"",
        value: None,
    };
    assert_eq!(writes, [put, delete]);
    assert_eq!(transactions[1].writes().count(), 1);
}

/// Every single changed bit is noticed, except in the padding.
#[test]
fn every_flipped_bit_is_noticed() {
    let (mut buffer, ..) = block();
    let bytes = BlockHeader::decode(&buffer).unwrap().0.bytes();
    for bit in 0..bytes * 8 {
        buffer[bit / 8] ^= 1 << (bit % 8);
        assert!(Block::decode(&buffer).is_err(), "bit {bit}");
        buffer[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(Block::decode(&buffer).is_ok());

    let header = SegmentHeader {
        database: 1,
        incarnation: 2,
        lane: 3,
        ordinal: 4,
    };
    let mut bytes = header.encode();
    assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let decoded = SegmentHeader::decode(&bytes);
        assert!(decoded.is_err() || (6..8).contains(&(bit / 8)), "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_torn_block_is_noticed() {
    let (buffer, ..) = block();
    for bytes in 0..buffer.len() {
        let torn = Block::decode(&buffer[..bytes]);
        let whole = BlockHeader::decode(&buffer).unwrap().0.bytes();
        assert_eq!(torn.is_ok(), bytes >= whole, "{bytes}");
    }
}

/// Impossible timestamps would be taken for identities of transactions.
#[test]
fn timestamps_that_cannot_be_are_refused() {
    let sealed = |timestamp: u64, as_of: u64| {
        let mut buffer = io::Buffer::zeroed(BLOCK_HEADER_BYTES);
        Appending::begin(&mut buffer, Timestamp(timestamp)).end();
        let header = BlockHeader {
            transactions: 1,
            as_of: Timestamp(as_of),
            ..BlockHeader::default()
        };
        seal(&mut buffer, header, &[]);
        buffer
    };
    let read = |buffer: &io::Buffer| -> Result<u64, Flaw> {
        let block = Block::decode(buffer)?;
        block.transactions().map(|t| Ok(t?.timestamp.0)).sum()
    };
    assert_eq!(read(&sealed(7, (1 << 62) + 1)), Ok(7));
    for impossible in [(1 << 63) - 1, 1 << 63, u64::MAX] {
        assert_eq!(read(&sealed(impossible, 7)), Err(Flaw::Nonsense));
        assert_eq!(read(&sealed(7, impossible)), Err(Flaw::Nonsense));
    }
}
