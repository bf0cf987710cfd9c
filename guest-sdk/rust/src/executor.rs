//! The executor: it polls the one future that is the entry, and when that has nothing left to do, waits for the handles that are
//! waited for. Wakers are honoured, so that combinators of other crates work: a future is polled again only when one of its
//! handles is done. There is one thread.

use crate::calls;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec;
use alloc::vec::Vec;
use core::future::Future;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};

/// What is known of the handles of an entry.
#[derive(Default)]
pub(crate) struct State {
    waiting: BTreeMap<i32, Waker>,
    ready: BTreeSet<i32>,
    /// Those who wait for the run's cancellation.
    listeners: Vec<Waker>,
    pub(crate) cancelled: bool,
    pub(crate) continued: bool,
}

impl State {
    pub(crate) fn is_ready(&self, handle: i32) -> bool {
        self.ready.contains(&handle)
    }

    /// Says who is to be woken when a handle is done, or the run cancelled.
    pub(crate) fn listen_for(&mut self, handle: i32, waker: &Waker) {
        self.waiting.insert(handle, waker.clone());
    }

    pub(crate) fn forget(&mut self, handle: i32) {
        self.waiting.remove(&handle);
        self.ready.remove(&handle);
    }

    pub(crate) fn listen(&mut self, waker: &Waker) {
        if !self.listeners.iter().any(|w| w.will_wake(waker)) {
            self.listeners.push(waker.clone());
        }
    }

    /// The handles to wait for; none when nothing that the program waits for can ever be done.
    fn handles(&self) -> Vec<i32> {
        if self.waiting.is_empty() && (self.cancelled || self.listeners.is_empty()) {
            return Vec::new();
        }
        let run = if self.cancelled { None } else { Some(calls::RUN) };
        run.into_iter().chain(self.waiting.keys().copied()).collect()
    }

    /// Notes that a handle is done and returns who is to be woken.
    pub(crate) fn done(&mut self, handle: i32) -> Vec<Waker> {
        if handle == calls::RUN {
            self.cancelled = true;
            let mut woken = core::mem::take(&mut self.listeners);
            woken.extend(self.waiting.values().cloned());
            return woken;
        }
        self.ready.insert(handle);
        self.waiting.remove(&handle).into_iter().collect()
    }
}

/// How polling came to an end.
pub(crate) enum Ended<T> {
    Output(T),
    /// The program asked for a successor.
    Continued,
    /// It waits for what nothing can settle.
    Stuck,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed)
    }
}

/// Runs a future to its end.
pub(crate) fn run<F: Future>(root: F) -> Ended<F::Output> {
    calls::cancel_handle();
    let mut root = Box::pin(root);
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(flag.clone());
    loop {
        while flag.0.swap(false, Ordering::Relaxed) {
            if let Poll::Ready(output) = root.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Ended::Output(output);
            }
            if state(|s| s.continued) {
                return Ended::Continued;
            }
        }
        let handles = state(|s| s.handles());
        if handles.is_empty() {
            return Ended::Stuck;
        }
        wait(&handles, -1);
    }
}

/// Waits for one of the handles, or looks, and wakes who is to be woken.
pub(crate) fn wait(handles: &[i32], timeout: i64) {
    let mut ready = vec![0; handles.len()];
    let n = calls::wait(handles, timeout, &mut ready);
    for &handle in &ready[..n] {
        // Woken outside the loan of the state: a waker of another crate may do as it likes.
        for waker in state(|s| s.done(handle)) {
            waker.wake();
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod place {
    use super::State;
    use core::cell::RefCell;

    struct Place(RefCell<Option<State>>);

    // A module has one thread.
    unsafe impl Sync for Place {}

    static PLACE: Place = Place(RefCell::new(None));

    pub(crate) fn state<R>(f: impl FnOnce(&mut State) -> R) -> R {
        f(PLACE.0.borrow_mut().get_or_insert_with(State::default))
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod place {
    use super::State;
    use std::cell::RefCell;

    std::thread_local! {
        static PLACE: RefCell<State> = RefCell::new(State::default());
    }

    pub(crate) fn state<R>(f: impl FnOnce(&mut State) -> R) -> R {
        PLACE.with(|s| f(&mut s.borrow_mut()))
    }
}

pub(crate) use place::state;
