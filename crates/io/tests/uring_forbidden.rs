//! If `io_uring` is forbidden, as container runtimes do by a system call filter, blocking calls
//! take its place and say why. The test is a program of its own, since the filter stays.

#[path = "common/backends.rs"]
mod backends;

use std::{io::ErrorKind, mem::offset_of, sync::Arc};

use backends::{Place, block_of, complete, zeroed};
use io::{Action, BLOCK_BYTES, Backend, Directory, Operation, RealDirectory};

/// Forbids this thread to set up rings, from now on.
fn forbid() {
    let instruction = |code: u32, jump_unless: u8, value: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: jump_unless,
        k: value,
    };
    let forbidden = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        instruction(
            libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
            0,
            offset_of!(libc::seccomp_data, nr) as u32,
        ),
        instruction(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            1,
            libc::SYS_io_uring_setup as u32,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, forbidden),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the call takes no memory.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(promised, 0);
    // SAFETY: the program is valid during the call, which copies it.
    let filtered =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    assert_eq!(filtered, 0);
}

#[test]
fn blocking_calls_stand_in_and_say_why() {
    let place = Place::new();
    // Whether a ring can be had may change between opening and a thread's channel.
    let before = RealDirectory::open(&place.0, Backend::Auto).unwrap();
    let had_ring = before.backend() == "io_uring";
    forbid();
    let error = RealDirectory::open(&place.0, Backend::Uring).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let directory = RealDirectory::open(&place.0, Backend::Auto).unwrap();
    assert_eq!(
        directory.backend(),
        "blocking (io_uring: Operation not permitted)"
    );
    for (directory, name) in [(before, "before"), (directory, "after")] {
        let directory: Arc<dyn Directory> = Arc::new(directory);
        let file = zeroed(&directory, name, 1);
        let mut channel = directory.channel().unwrap();
        channel.submit(Operation {
            token: 1,
            action: Action::WriteDurable,
            file: file.clone(),
            offset: 0,
            buffer: block_of(1),
        });
        let end = complete(&mut *channel, 1).pop().unwrap();
        assert_eq!(end.result.unwrap(), BLOCK_BYTES);
        if had_ring && name == "before" {
            assert_eq!(
                directory.backend(),
                "io_uring, for some threads blocking (Operation not permitted)"
            );
        }
    }
}
