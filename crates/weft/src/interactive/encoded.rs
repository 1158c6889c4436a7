//! Keys, values and ranges that the client's thread has encoded, on their way to the worker.

use std::ops::Bound;

use crate::{
    key::{AsKey, KeyBuffer, KeyRange},
    value::{AsValue, Value},
};

pub(super) struct EncodedKey(KeyBuffer);

impl EncodedKey {
    pub(super) fn of<K, Q: AsKey<K> + ?Sized>(key: &Q) -> EncodedKey {
        EncodedKey(KeyBuffer::from(key.encode_key().as_ref()))
    }
}

impl<K> AsKey<K> for EncodedKey {
    type Encoded<'k> = &'k [u8];

    fn encode_key(&self) -> &[u8] {
        self.0.as_ref()
    }

    fn encode_part(&self, _: &mut KeyBuffer) {
        unreachable!("whole keys are encoded, never parts");
    }
}

pub(super) struct EncodedValue(Vec<u8>);

impl EncodedValue {
    pub(super) fn of<V, W: AsValue<V> + ?Sized>(value: &W) -> EncodedValue {
        EncodedValue(value.encode_value().as_ref().to_vec())
    }
}

impl<V: Value> AsValue<V> for EncodedValue {
    type Encoded<'v> = &'v [u8];

    fn encode_value(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Clone)]
pub(super) struct EncodedRange(Bound<KeyBuffer>, Bound<KeyBuffer>);

impl EncodedRange {
    pub(super) fn of<K>(range: &impl KeyRange<K>) -> EncodedRange {
        let (lower, upper) = range.encoded_bounds();
        EncodedRange(lower, upper)
    }
}

impl<K> KeyRange<K> for EncodedRange {
    fn encoded_bounds(&self) -> (Bound<KeyBuffer>, Bound<KeyBuffer>) {
        (self.0.clone(), self.1.clone())
    }
}
