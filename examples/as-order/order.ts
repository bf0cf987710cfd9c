// An order in AssemblyScript: stock and payment side by side, an approval that may take days, and an undoing when something fails.
import {
  activity, defineActivity, fail, Failure, Fields, HOUR, log, MILLISECOND, now, ok, Options, publish, query, Result, SECOND, signal, sleep, Value,
  workflow, Writer,
} from "reprise";

export { reprise_query, reprise_run } from "reprise";

class Order {
  id: string = "";
  amount: i64 = 0;

  fromJson(f: Fields): void {
    this.id = f.get<string>("id");
    this.amount = f.get<i64>("amount");
  }

  toJson(w: Writer): void { w.object().key("id").string(this.id).key("amount").int(this.amount).end(); }
}

class Approval {
  by: string = "";

  fromJson(f: Fields): void { this.by = f.get<string>("by"); }
}

class Receipt {
  constructor(public order: string, public payment: string, public shipped: i64) {}

  toJson(w: Writer): void { w.object().key("order").string(this.order).key("payment").string(this.payment).key("shipped").int(this.shipped).end(); }
}

const retried = Options.retry(5, 200 * MILLISECOND);

// Activities run outside the workflow, at least once, and are retried by policy. A real one would make an HttpRequest.

defineActivity<Order, string>("reserve", (o: Order): Result<string> => ok<string>("stock-" + o.id));

defineActivity<Order, string>("pay", (o: Order): Result<string> => {
  if (o.amount > 10000) return fail<string>(new Failure("card_declined", o.amount.toString() + " is too much").notRetryable());
  return ok<string>("payment-" + o.id);
});

defineActivity<string, Value>("release", (stock: string): Result<Value> => {
  log("released " + stock);
  return ok<Value>(Value.null());
});

defineActivity<string, Value>("refund", (payment: string): Result<Value> => {
  log("refunded " + payment);
  return ok<Value>(Value.null());
});

// What the query shows. An instance has one run, so it may be a variable of the program.
let booked: Value = Value.object();

query<Value, Value>("booked", (_: Value): Result<Value> => ok<Value>(booked));

// ship has the order shipped when somebody approves it within a week.
function ship(order: Order, payment: string): Result<Receipt> {
  publish<string>("stage", "waiting for approval");
  const approval = signal<Approval>("approve").waitFor(7 * 24 * HOUR);
  if (!approval.ok) return approval.failed<Receipt>();
  log("approved by " + approval.value.by);

  publish<string>("stage", "packing");
  const packed = sleep(2 * SECOND);
  return packed.ok ? ok<Receipt>(new Receipt(order.id, payment, now() / SECOND)) : packed.failed<Receipt>();
}

workflow<Order, Receipt>("order", (order: Order): Result<Receipt> => {
  publish<string>("stage", "booking");
  // Both are asked for before either is waited for. They are shielded, so that what was booked is known, and can be undone, when
  // the run is cancelled meanwhile.
  const reserving = activity<Order, string>("reserve", order, retried).shield(), paying = activity<Order, string>("pay", order, retried).shield();
  const stock = reserving.wait(), payment = paying.wait();
  if (stock.ok) booked.set("stock", Value.string(stock.value));
  if (payment.ok) booked.set("payment", Value.string(payment.value));

  const shipped = !stock.ok ? stock.failed<Receipt>() : !payment.ok ? payment.failed<Receipt>() : ship(order, payment.value);
  if (shipped.ok) return shipped;

  publish<string>("stage", shipped.failure.isCancelled ? "cancelled" : "failed");
  // What is asked for after a cancellation works. The run's failure is the first, whatever comes of the undoing.
  if (payment.ok) activity<string, Value>("refund", payment.value, retried).wait();
  if (stock.ok) activity<string, Value>("release", stock.value, retried).wait();
  return shipped;
});
