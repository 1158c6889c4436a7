//! Type-erased storage for one root future, reused from task to task.
//!
//! A box per task would be an allocation per transaction. A slot instead keeps
//! one buffer and grows it to the largest future it has held.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    future::Future,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll},
};

pub(crate) struct Root {
    buffer: NonNull<u8>,
    layout: Layout,
    future: Option<&'static Vtable>,
}

struct Vtable {
    /// Name of the future's type.
    name: fn() -> &'static str,
    poll: unsafe fn(NonNull<u8>, &mut Context<'_>) -> Poll<()>,
    drop: unsafe fn(NonNull<u8>),
}

struct Erased<F>(std::marker::PhantomData<F>);

impl<F: Future<Output = ()>> Erased<F> {
    const VTABLE: Vtable = Vtable {
        name: std::any::type_name::<F>,
        poll: Self::poll,
        drop: Self::drop,
    };

    /// # Safety
    /// `future` points to a live `F`, pinned where it is and not otherwise in use.
    unsafe fn poll(future: NonNull<u8>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the caller's promise.
        unsafe { Pin::new_unchecked(future.cast::<F>().as_mut()) }.poll(context)
    }

    /// # Safety
    /// The contract of `poll`; the future is not used again.
    unsafe fn drop(future: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { future.cast::<F>().drop_in_place() };
    }
}

impl Root {
    pub(crate) fn new() -> Root {
        Root {
            buffer: NonNull::dangling(),
            layout: Layout::new::<()>(),
            future: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.future.is_none()
    }

    /// Returns the type name of the future that is held, or an empty string.
    pub(crate) fn type_name(&self) -> &'static str {
        self.future.map_or("", |vtable| (vtable.name)())
    }

    /// Returns the bytes of the buffer: the size of the largest future held so far.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Puts the future that `make` returns into the storage. If `make` panics, the storage stays
    /// empty.
    #[inline]
    pub(crate) fn emplace<F: Future<Output = ()> + 'static>(&mut self, make: impl FnOnce() -> F) {
        assert!(self.is_empty(), "a root holds one future at a time");
        let needed = Layout::new::<F>();
        if needed.size() > self.layout.size() || needed.align() > self.layout.align() {
            self.grow(needed);
        }
        // SAFETY: the buffer is at least as large and as aligned as `F`, and empty.
        unsafe { self.buffer.cast::<F>().write(make()) };
        self.future = Some(&Erased::<F>::VTABLE);
    }

    #[cold]
    fn grow(&mut self, needed: Layout) {
        self.release();
        let align = needed.align().max(64);
        let size = needed.size().max(1).next_multiple_of(align);
        let layout = Layout::from_size_align(size, align).expect("a future's layout is valid");
        // SAFETY: the size is not zero.
        let buffer = unsafe { alloc(layout) };
        self.buffer = NonNull::new(buffer).unwrap_or_else(|| handle_alloc_error(layout));
        self.layout = layout;
    }

    /// Polls the future, and drops it when it is done.
    #[inline]
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let vtable = self.future.expect("only occupied slots are resumed");
        // SAFETY: `future` is set, so the buffer holds a live future of that type.
        let poll = unsafe { (vtable.poll)(self.buffer, context) };
        if poll.is_ready() {
            self.clear();
        }
        poll
    }

    /// Drops the future, if any. The storage is empty afterwards even if the drop panics.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if let Some(vtable) = self.future.take() {
            // SAFETY: the future is live and was just forgotten, so it is dropped
            // once.
            unsafe { (vtable.drop)(self.buffer) };
        }
    }

    /// Frees the buffer. The storage must be empty.
    pub(crate) fn release(&mut self) {
        debug_assert!(self.is_empty());
        if self.layout.size() > 0 {
            // SAFETY: allocated by `grow` with this layout.
            unsafe { dealloc(self.buffer.as_ptr(), self.layout) };
            self.layout = Layout::new::<()>();
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.clear();
        self.release();
    }
}
