use crate::calls;
use crate::executor::{self, state};
use crate::failure::{Failure, Result};
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

/// Something that was asked of the host: an activity, an effect, a timer, a signal, a child. The request is made when this value is; it is a
/// future of the outcome, and to drop it is to give the request up.
///
/// When the run is cancelled, requests that were made before fail with code `cancelled`, unless they are
/// [shielded](Request::shield). What is asked for afterwards is not affected, so that compensations can run.
#[must_use = "a request that is dropped is given up; await it"]
pub struct Request<T> {
    asked: core::result::Result<Handle, Option<Failure>>,
    decode: fn(Vec<u8>) -> Result<T>,
}

struct Handle {
    id: i32,
    /// Fails when the run is cancelled.
    yields: bool,
    /// The outcome was taken.
    taken: bool,
}

impl<T> Request<T> {
    pub(crate) fn new(id: i32, decode: fn(Vec<u8>) -> Result<T>) -> Request<T> {
        let yields = !state(|s| s.cancelled);
        Request { asked: Ok(Handle { id, yields, taken: false }), decode }
    }

    /// A request that could not be made.
    pub(crate) fn refused(failure: Failure, decode: fn(Vec<u8>) -> Result<T>) -> Request<T> {
        Request { asked: Err(Some(failure)), decode }
    }

    /// Lets the request go on when the run is cancelled.
    pub fn shield(mut self) -> Request<T> {
        if let Ok(handle) = &mut self.asked {
            handle.yields = false;
        }
        self
    }

    /// Gives the request up, as dropping it does.
    pub fn cancel(self) {}

    /// Looks whether the request is done, without waiting. A look that finds nothing is recorded, so that it finds nothing in
    /// every replay. The outcome is taken: a request that has given it may not be awaited.
    pub fn look(&mut self) -> Option<Result<T>> {
        if let Ok(handle) = &self.asked {
            if !handle.taken && !state(|s| s.is_ready(handle.id)) {
                executor::wait(&[handle.id], 0);
            }
        }
        self.outcome()
    }

    /// The outcome when there is one.
    fn outcome(&mut self) -> Option<Result<T>> {
        let handle = match &mut self.asked {
            Ok(handle) => handle,
            Err(failure) => return Some(Err(failure.take().expect("the request has not given its outcome"))),
        };
        assert!(!handle.taken, "the request has given its outcome");
        let outcome = if state(|s| s.is_ready(handle.id)) {
            let bytes = calls::result(handle.id);
            match calls::status(handle.id) {
                calls::OK => (self.decode)(bytes),
                status => Err(Failure::from_outcome(status, bytes)),
            }
        } else if handle.yields && state(|s| s.cancelled) {
            Err(Failure::cancelled())
        } else {
            return None;
        };
        handle.release();
        Some(outcome)
    }
}

impl<T> Future for Request<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        match self.outcome() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                if let Ok(handle) = &self.asked {
                    state(|s| s.listen_for(handle.id, cx.waker()));
                }
                Poll::Pending
            }
        }
    }
}

impl Handle {
    /// Gives up what is pending, and frees what the outcome takes.
    fn release(&mut self) {
        if !self.taken {
            self.taken = true;
            state(|s| s.forget(self.id));
            calls::drop(self.id);
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.release();
    }
}

/// A durable timer: it is due that long after the run's present time, however long that is and whatever becomes of the host.
pub fn sleep(duration: Duration) -> Request<()> {
    Request::new(calls::timer(nanoseconds(duration)), |_| Ok(()))
}

/// The payload of the next signal of a name. Signals that came before count; each is delivered once, in order of arrival.
pub fn signal<T: crate::Decode>(name: &str) -> Request<T> {
    Request::new(calls::signal(name), crate::payload::outcome)
}

/// What the contract takes: more than a hundred years are a hundred years.
pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Waits until the run is cancelled. A program that does not want its requests to fail then shields them.
pub fn cancelled() -> Cancelled {
    Cancelled(())
}

/// Whether the run is cancelled, as far as the program has seen.
pub fn is_cancelled() -> bool {
    state(|s| s.cancelled)
}

/// The future of [`cancelled`].
#[must_use = "it does nothing unless awaited"]
pub struct Cancelled(());

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        state(|s| {
            if s.cancelled {
                return Poll::Ready(());
            }
            s.listen(cx.waker());
            Poll::Pending
        })
    }
}
