use super::*;

fn read(tag: u8, body: &[u8]) -> Result<Request<'_>> {
    Request::read(Frame { tag, body })
}

#[test]
fn parameters_are_borrowed_as_they_came() {
    let body = b"p\0s\0\0\x02\0\x01\0\0\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0\0\x01\0\x01";
    // There are two forms for three parameters.
    let error = read(b'B', body).unwrap_err();
    assert_eq!(
        error.message(),
        "bind message has 2 parameter formats but 3 parameters"
    );
    let body = b"p\0s\0\0\x01\0\x01\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0\0\x01\0\x01";
    let Request::Bind(bind) = read(b'B', body).unwrap() else {
        panic!("another request");
    };
    assert_eq!((bind.portal, bind.statement), ("p", "s"));
    assert_eq!(bind.parameters.len(), 3);
    let values: Vec<_> = bind.parameters.iter().collect();
    assert_eq!(
        values,
        [
            (Format::Binary, Some(&b"ab"[..])),
            (Format::Binary, None),
            (Format::Binary, Some(b""))
        ]
    );
    assert_eq!(bind.results.get(5), Format::Binary);
}

#[test]
fn types_may_be_left_open() {
    let Request::Parse(parse) = read(b'P', b"s\0text\0\0\x02\0\0\0\x17\0\0\0\0").unwrap() else {
        panic!("another request");
    };
    assert_eq!((parse.name, parse.text), ("s", "text"));
    assert_eq!(parse.types.iter().collect::<Vec<_>>(), [Some(23), None]);
}

/// A message that is cut off anywhere is an error, and so is a message with a byte
/// too many.
#[test]
fn a_part_is_no_message() {
    for (tag, body) in [
        (b'Q', &b"select\0"[..]),
        (b'P', b"s\0text\0\0\x01\0\0\0\x17"),
        (b'B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x02ab\0\x01\0\x01"),
        (b'D', b"Sname\0"),
        (b'C', b"Pname\0"),
        (b'E', b"name\0\0\0\0\x05"),
    ] {
        assert!(read(tag, body).is_ok());
        for length in 0..body.len() {
            let error = read(tag, &body[..length]).unwrap_err();
            assert_eq!(error.state(), SqlState::PROTOCOL_VIOLATION, "{length}");
        }
        let longer = [body, b"\0"].concat();
        assert_eq!(
            read(tag, &longer).unwrap_err().message(),
            "invalid message format"
        );
    }
    assert!(read(b'D', b"xname\0").is_err());
    // A length below -1 is invalid.
    assert!(read(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0").is_err());
}

/// Names of any length were kept, and charged to no connection.
#[test]
fn names_are_bounded() {
    // The bytes before the name, and those behind it.
    let messages: [(u8, &[u8], &[u8]); 6] = [
        (b'P', b"", b"\0text\0\0\0"),
        (b'B', b"", b"\0s\0\0\0\0\0\0\0"),
        (b'B', b"p\0", b"\0\0\0\0\0\0\0"),
        (b'D', b"S", b"\0"),
        (b'C', b"P", b"\0"),
        (b'E', b"", b"\0\0\0\0\0"),
    ];
    for (tag, before, behind) in messages {
        let message = |bytes| [before, &vec![b'n'; bytes], behind].concat();
        assert!(read(tag, &message(1000)).is_ok());
        let error = read(tag, &message(1001)).unwrap_err();
        assert_eq!(error.state(), SqlState::NAME_TOO_LONG);
    }
}
