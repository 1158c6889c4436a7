use super::*;

/// Returns a conversation in `phase` that has received `tags`, each with an empty body.
fn sent(phase: Phase, tags: &[u8]) -> Conversation {
    let mut conversation = Conversation::new(1000);
    conversation.enter(phase);
    for &tag in tags {
        conversation.input.room()[..5].copy_from_slice(&[tag, 0, 0, 0, 4]);
        conversation.input.arrived(5);
    }
    conversation
}

#[test]
fn skipping_ends_with_a_sync() {
    let mut conversation = sent(Phase::Skipping, b"QPBEDCHdcfSS");
    assert!(matches!(conversation.request(), Ok(Some(Request::Sync))));
    assert_eq!(conversation.phase(), Phase::Ready);
    assert!(matches!(conversation.request(), Ok(Some(Request::Sync))));
    assert!(matches!(conversation.request(), Ok(None)));
    assert!(matches!(
        sent(Phase::Skipping, b"X").request(),
        Ok(Some(Request::Terminate))
    ));
}

#[test]
fn unwanted_data_are_passed_over() {
    let mut conversation = sent(Phase::Ready, b"dcfH");
    assert!(matches!(conversation.request(), Ok(Some(Request::Flush))));
}

#[test]
fn data_is_wanted_and_nothing_else() {
    let mut conversation = sent(Phase::Copying, b"HSdcQX");
    assert!(matches!(conversation.copied(), Ok(Some(Copied::Data(_)))));
    assert!(matches!(conversation.copied(), Ok(Some(Copied::Done))));
    assert!(conversation.copied().is_err());
    assert_eq!(conversation.phase(), Phase::Copying);
    assert!(conversation.copied().is_err());
    assert_eq!(conversation.phase(), Phase::Closed);
    conversation.enter(Phase::Ready);
    assert_eq!(conversation.phase(), Phase::Closed);
}

#[test]
fn bytes_that_are_no_message_end_the_connection() {
    let mut conversation = sent(Phase::Ready, b"zS");
    let misunderstood = conversation.request().unwrap_err();
    assert!(matches!(misunderstood.fault, Fault::Fatal(_)));
    assert_eq!(conversation.phase(), Phase::Closed);
}
