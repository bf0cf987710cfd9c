use crate::failure::{Failure, Result};
use crate::request::{nanoseconds, Request};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

/// One or the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first.
    Left(A),
    /// The second.
    Right(B),
}

type Boxed<F> = Pin<Box<F>>;

/// Waits for whichever is done first; when both are, the first counts. The other is dropped, which gives up what it
/// waits for; give `&mut request` to keep it.
pub fn race<A: Future, B: Future>(a: A, b: B) -> Race<A, B> {
    Race(Box::pin(a), Box::pin(b))
}

/// The future of [`race`].
#[must_use = "it does nothing unless awaited"]
pub struct Race<A, B>(Boxed<A>, Boxed<B>);

impl<A: Future, B: Future> Future for Race<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(a) = self.0.as_mut().poll(cx) {
            return Poll::Ready(Either::Left(a));
        }
        self.1.as_mut().poll(cx).map(Either::Right)
    }
}

/// A future, and what it gave until that is asked for.
enum Slot<F: Future> {
    Open(Boxed<F>),
    Done(Option<F::Output>),
}

impl<F: Future> Slot<F> {
    fn new(f: F) -> Slot<F> {
        Slot::Open(Box::pin(f))
    }

    /// Polls what is open and says whether it is done.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if let Slot::Open(f) = self {
            match f.as_mut().poll(cx) {
                Poll::Ready(output) => *self = Slot::Done(Some(output)),
                Poll::Pending => return false,
            }
        }
        true
    }

    fn take(&mut self) -> F::Output {
        match self {
            Slot::Done(output) => output.take().expect("the join has not given its outcome"),
            Slot::Open(_) => unreachable!("only what is done is taken"),
        }
    }
}

/// Waits for both.
pub fn join<A: Future, B: Future>(a: A, b: B) -> Join<A, B> {
    Join(Slot::new(a), Slot::new(b))
}

/// The future of [`join`].
#[must_use = "it does nothing unless awaited"]
pub struct Join<A: Future, B: Future>(Slot<A>, Slot<B>);

// What is polled is in boxes, which stay where they are.
impl<A: Future, B: Future> Unpin for Join<A, B> {}

impl<A: Future, B: Future> Future for Join<A, B> {
    type Output = (A::Output, B::Output);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (a, b) = (self.0.poll(cx), self.1.poll(cx));
        if a && b {
            Poll::Ready((self.0.take(), self.1.take()))
        } else {
            Poll::Pending
        }
    }
}

/// Waits for all and gives what they gave, in their order.
pub fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> JoinAll<F> {
    JoinAll(futures.into_iter().map(Slot::new).collect())
}

/// The future of [`join_all`].
#[must_use = "it does nothing unless awaited"]
pub struct JoinAll<F: Future>(Vec<Slot<F>>);

impl<F: Future> Unpin for JoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut open = 0;
        for slot in &mut self.0 {
            open += usize::from(!slot.poll(cx));
        }
        if open > 0 {
            return Poll::Pending;
        }
        Poll::Ready(self.0.iter_mut().map(Slot::take).collect())
    }
}

/// Waits for all, or for the first that fails; the others are then dropped.
pub fn try_join_all<T, E, F>(futures: impl IntoIterator<Item = F>) -> TryJoinAll<F>
where
    F: Future<Output = core::result::Result<T, E>>,
{
    TryJoinAll(futures.into_iter().map(Slot::new).collect())
}

/// The future of [`try_join_all`].
#[must_use = "it does nothing unless awaited"]
pub struct TryJoinAll<F: Future>(Vec<Slot<F>>);

impl<F: Future> Unpin for TryJoinAll<F> {}

impl<T, E, F: Future<Output = core::result::Result<T, E>>> Future for TryJoinAll<F> {
    type Output = core::result::Result<Vec<T>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut open = 0;
        for slot in &mut self.0 {
            if !slot.poll(cx) {
                open += 1;
            } else if let Slot::Done(Some(Err(_))) = slot {
                let failed = slot.take().map(|_| Vec::new());
                self.0.clear();
                return Poll::Ready(failed);
            }
        }
        if open > 0 {
            return Poll::Pending;
        }
        Poll::Ready(self.0.iter_mut().map(Slot::take).collect())
    }
}

/// Gives a future so long, and then drops it and fails with code `timeout`. When the run is cancelled the future decides
/// what becomes of it, and has its time for that.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Result<F::Output> {
    let timer = Request::new(crate::calls::timer(nanoseconds(duration)), |_| Ok(())).shield();
    match race(future, timer).await {
        Either::Left(output) => Ok(output),
        Either::Right(_) => Err(Failure::new(Failure::TIMEOUT, alloc::format!("it took longer than {:?}", duration))),
    }
}

/// Waits for several futures of any types and goes on in the arm of the one that is done first; of several the first in the text. The
/// others are dropped, which gives up what they wait for; give `&mut request` to keep one.
///
/// ```
/// # use std::time::Duration;
/// # async fn f() -> reprise::Result<&'static str> {
/// let decision = reprise::select! {
///     approved = reprise::signal::<bool>("approve") => if approved? { "yes" } else { "no" },
///     _ = reprise::sleep(Duration::from_secs(3600)) => "too late",
///     _ = reprise::cancelled() => "cancelled",
/// };
/// # Ok(decision)
/// # }
/// ```
#[macro_export]
macro_rules! select {
    ($($pattern:pat = $future:expr => $arm:expr),+ $(,)?) => {
        match $crate::__race!($($future),+).await {
            first => $crate::__arms!(first; $($pattern => $arm),+),
        }
    };
}

/// Nests races.
#[doc(hidden)]
#[macro_export]
macro_rules! __race {
    ($future:expr) => {
        $future
    };
    ($future:expr, $($rest:expr),+) => {
        $crate::race($future, $crate::__race!($($rest),+))
    };
}

/// Takes nested races apart.
#[doc(hidden)]
#[macro_export]
macro_rules! __arms {
    ($first:ident; $pattern:pat => $arm:expr) => {
        match $first {
            $pattern => $arm,
        }
    };
    ($first:ident; $pattern:pat => $arm:expr, $($rest:tt)+) => {
        match $first {
            $crate::Either::Left($pattern) => $arm,
            $crate::Either::Right(other) => $crate::__arms!(other; $($rest)+),
        }
    };
}
