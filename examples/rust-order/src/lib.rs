//! An order in Rust: stock and payment side by side, an approval that may take days, and an undoing when something fails.
use reprise::{info, join, now, publish, record, signal, sleep, timeout, Activity, Failure, Options, Result, Retry};
use std::sync::Mutex;
use std::time::Duration;

record! {
    #[derive(Clone)]
    struct Order { id: String, amount: i64 }
}

record! {
    struct Approval { by: String }
}

record! {
    struct Receipt { order: String, payment: String, shipped: u64 }
}

record! {
    #[derive(Clone)]
    struct Bookings { stock: Option<String>, payment: Option<String> }
}

/// What the query shows. An instance has one run, so it may be static.
static BOOKED: Mutex<Bookings> = Mutex::new(Bookings { stock: None, payment: None });

const RETRIED: Options =
    Options { retry: Some(Retry { attempts: 5, backoff: Duration::from_millis(200), ..Retry::DEFAULT }), ..Options::DEFAULT };

const RESERVE: Activity<Order, String> = Activity::new("reserve").with(RETRIED);
const RELEASE: Activity<String, ()> = Activity::new("release").with(RETRIED);
const PAY: Activity<Order, String> = Activity::new("pay").with(RETRIED);
const REFUND: Activity<String, ()> = Activity::new("refund").with(RETRIED);

// Activities run outside the workflow, at least once, and are retried by policy. A real one would use reprise::http.

async fn reserve(order: Order) -> Result<String> {
    Ok(format!("stock-{}", order.id))
}

async fn release(stock: String) -> Result<()> {
    info!("released {}", stock);
    Ok(())
}

async fn pay(order: Order) -> Result<String> {
    if order.amount > 10_000 {
        return Err(Failure::new("card_declined", format!("{} is too much", order.amount)).not_retryable());
    }
    Ok(format!("payment-{}", order.id))
}

async fn refund(payment: String) -> Result<()> {
    info!("refunded {}", payment);
    Ok(())
}

/// Has the order shipped when somebody approves it within a week.
async fn ship(order: &Order, payment: &str) -> Result<Receipt> {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
    publish("stage", "waiting for approval")?;
    let approval: Approval = timeout(WEEK, signal("approve")).await??;
    info!("approved by {}", approval.by);

    publish("stage", "packing")?;
    sleep(Duration::from_secs(2)).await?;
    Ok(Receipt { order: order.id.clone(), payment: payment.into(), shipped: now().as_secs() })
}

async fn order(order: Order) -> Result<Receipt> {
    publish("stage", "booking")?;
    // Shielded, so that what was booked is known, and can be undone, when the run is cancelled meanwhile.
    let (stock, payment) = join(RESERVE.call(&order).shield(), PAY.call(&order).shield()).await;
    *BOOKED.lock()? = Bookings { stock: stock.clone().ok(), payment: payment.clone().ok() };
    let shipped = match (&stock, &payment) {
        (Ok(_), Ok(payment)) => ship(&order, payment).await,
        (Err(failure), _) | (_, Err(failure)) => Err(failure.clone()),
    };
    if let Err(failure) = &shipped {
        publish("stage", if failure.is_cancelled() { "cancelled" } else { "failed" })?;
        // What is asked for after a cancellation works. The run's failure is the first, whatever comes of the undoing.
        if let Ok(payment) = payment {
            let _ = REFUND.call(payment).await;
        }
        if let Ok(stock) = stock {
            let _ = RELEASE.call(stock).await;
        }
    }
    shipped
}

fn booked(_: ()) -> Result<Bookings> {
    Ok(BOOKED.lock()?.clone())
}

reprise::module! {
    workflow "order" => order;
    query "booked" => booked;
    activity RESERVE => reserve;
    activity RELEASE => release;
    activity PAY => pay;
    activity REFUND => refund;
}
