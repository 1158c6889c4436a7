//! One thread's stock of blocks.
//!
//! Allocation is a pop from a vector or a bump of a pointer; neither touches
//! the block itself, which is usually cold: free lists threaded through the
//! blocks would cost a cache miss on each side. The next block is prefetched
//! while the caller fills this one.

use std::{ptr::NonNull, sync::Arc};

use crate::{
    arena::{Account, Arena, Exhausted, Purpose},
    class::{BLOCK_BYTES_MAX, CLASS_COUNT, VERSION_CLASSES, block_bytes, class_of},
};

/// Free blocks kept per class before the surplus goes to the arena, in bytes.
const KEPT_BYTES_MAX: usize = 1 << 20;

pub(crate) struct Cache {
    arena: Arc<Arena>,
    account: Arc<Account>,
    stocks: Box<[Stock]>,
    /// Number of closings of regions at the last look.
    closings: u64,
    /// Whether some regions were closing then: their blocks are not to be used again.
    some_close: bool,
}

struct Stock {
    free: Vec<NonNull<u8>>,
    /// The unused rest of the newest chunk.
    rest: NonNull<u8>,
    rest_bytes: usize,
    chunk_bytes_next: usize,
}

// SAFETY: the pointers name free blocks owned by this cache; owning threads may
// change as long as there is one at a time, which `&mut self` ensures.
unsafe impl Send for Cache {}

impl Cache {
    pub(crate) fn new(arena: Arc<Arena>) -> Cache {
        let account = arena.open_account();
        let stocks = (0..CLASS_COUNT)
            .map(|_| Stock {
                free: Vec::new(),
                rest: NonNull::dangling(),
                rest_bytes: 0,
                chunk_bytes_next: 0,
            })
            .collect();
        Cache {
            arena,
            account,
            stocks,
            closings: 0,
            some_close: false,
        }
    }

    pub(crate) fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    #[inline]
    pub(crate) fn allocate(
        &mut self,
        bytes: usize,
        purpose: Purpose,
        urgent: bool,
    ) -> Result<NonNull<u8>, Exhausted> {
        if bytes > BLOCK_BYTES_MAX {
            return Err(Exhausted);
        }
        let class = class_of(bytes, purpose);
        let block_bytes = block_bytes(class);
        let stock = &mut self.stocks[class];
        let block = if let Some(block) = stock.free.pop() {
            if let Some(next) = stock.free.last() {
                prefetch_for_write(*next);
            }
            block
        } else if stock.rest_bytes >= block_bytes {
            stock.bump(block_bytes)
        } else {
            self.refill(class, urgent)?
        };
        self.account.add(purpose, block_bytes as i64);
        Ok(block)
    }

    pub(crate) fn list_bytes(&self) -> usize {
        let blocks = self.stocks.iter().map(|stock| stock.free.capacity());
        blocks.sum::<usize>() * size_of::<NonNull<u8>>()
    }

    #[cold]
    fn refill(&mut self, class: usize, urgent: bool) -> Result<NonNull<u8>, Exhausted> {
        let block_bytes = block_bytes(class);
        let stock = &mut self.stocks[class];
        self.arena
            .take_central(class, &mut stock.free, kept_blocks(block_bytes) / 2 + 1);
        if let Some(block) = stock.free.pop() {
            return Ok(block);
        }
        let (rest, rest_bytes) = self
            .arena
            .claim_chunk(class, stock.chunk_bytes_next, urgent)?;
        stock.rest = rest;
        stock.rest_bytes = rest_bytes;
        stock.chunk_bytes_next = rest_bytes * 2;
        Ok(stock.bump(block_bytes))
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from an allocation of `bytes` for `purpose` in the same arena and no thread can
    /// reach it any more.
    #[inline]
    pub(crate) unsafe fn free(&mut self, block: NonNull<u8>, bytes: usize, purpose: Purpose) {
        let class = class_of(bytes, purpose);
        let block_bytes = block_bytes(class);
        self.account.add(purpose, -(block_bytes as i64));
        if self.some_close && self.arena.is_closing(block) {
            return self.arena.give_central(class, std::iter::once(block));
        }
        let free = &mut self.stocks[class].free;
        free.push(block);
        let kept = kept_blocks(block_bytes);
        if free.len() > kept {
            let surplus = free.drain(..kept / 2 + 1);
            self.arena.give_central(class, surplus);
        }
    }
}

impl Cache {
    /// Gives back the blocks of versions' memory, if further regions are closing: also blocks of
    /// other regions, so that it is known which regions are the next to close.
    pub(crate) fn leave_closing(&mut self) {
        self.some_close = self.arena.some_close();
        let closings = self.arena.closings();
        if std::mem::replace(&mut self.closings, closings) == closings {
            return;
        }
        let arena = self.arena.clone();
        for class in VERSION_CLASSES..CLASS_COUNT {
            let stock = &mut self.stocks[class];
            if stock.rest_bytes > 0 && arena.is_closing(stock.rest) {
                stock.free_rest(block_bytes(class));
            }
            if !stock.free.is_empty() {
                arena.give_central(class, stock.free.drain(..));
            }
        }
    }
}

impl Stock {
    /// Makes free blocks of the rest of the newest chunk.
    fn free_rest(&mut self, block_bytes: usize) {
        while self.rest_bytes >= block_bytes {
            let block = self.bump(block_bytes);
            self.free.push(block);
        }
    }

    #[inline]
    fn bump(&mut self, block_bytes: usize) -> NonNull<u8> {
        let block = self.rest;
        // SAFETY: the caller checked `rest_bytes >= block_bytes`, so the result
        // is within the chunk or one past its end.
        self.rest = unsafe { block.add(block_bytes) };
        self.rest_bytes -= block_bytes;
        block
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, stock) in self.stocks.iter_mut().enumerate() {
            let block_bytes = block_bytes(class);
            stock.free_rest(block_bytes);
            if !stock.free.is_empty() {
                self.arena.give_central(class, stock.free.drain(..));
            }
        }
        self.arena.close_account(&self.account);
    }
}

fn kept_blocks(block_bytes: usize) -> usize {
    (KEPT_BYTES_MAX / block_bytes).clamp(2, 8192)
}

#[inline]
fn prefetch_for_write(block: NonNull<u8>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(block.as_ptr().cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = block;
}
