//! Destinations of appended bytes: a vector on the heap or in the arena, or a server's
//! buffer.

/// A growing run of bytes.
pub trait Sink {
    /// Appends `bytes`.
    fn put(&mut self, bytes: &[u8]);

    /// Returns all appended bytes, so that lengths can be filled in afterwards.
    fn written(&mut self) -> &mut [u8];

    /// Appends one byte.
    fn put_byte(&mut self, byte: u8) {
        self.put(&[byte]);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn written(&mut self) -> &mut [u8] {
        self
    }

    fn put_byte(&mut self, byte: u8) {
        self.push(byte);
    }
}

impl Sink for bumpalo::collections::Vec<'_, u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice_copy(bytes);
    }

    fn written(&mut self) -> &mut [u8] {
        self
    }

    fn put_byte(&mut self, byte: u8) {
        self.push(byte);
    }
}
