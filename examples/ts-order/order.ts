// An order in TypeScript: stock and payment side by side, an approval that may take days, and an undoing when something fails.
import { activity, Failure, isCancelled, publish, signal, sleep, within, workflow, type Context } from "reprise";

interface Order { id: string; amount: number }
interface Receipt { order: string; payment: string; shipped: string }

const retry = { attempts: 5, backoff: "200ms" };

// Activities run outside the workflow, at least once, and are retried by policy. A real one would call http().
const reserve = activity("reserve", async (o: Order) => `stock-${o.id}`, { retry });
const release = activity("release", async (stock: string) => console.log("released", stock), { retry });
const pay = activity("pay", async (o: Order) => {
  if (o.amount > 10_000) throw new Failure("card_declined", `${o.amount} is too much`, { retryable: false });
  return `payment-${o.id}`;
}, { retry });
const refund = activity("refund", async (payment: string) => console.log("refunded", payment), { retry });

workflow("order", async (order: Order, run: Context): Promise<Receipt> => {
  const stock = reserve(order), payment = pay(order);
  try {
    publish("stage", "booking");
    await Promise.all([stock, payment]);

    publish("stage", "waiting for approval");
    const approval = await within("7d", (expired) => signal<{ by: string }>("approve", { signal: expired }));
    console.info("approved by", approval.by);

    publish("stage", "packing");
    await sleep("2s");
    return { order: order.id, payment: await payment, shipped: new Date().toISOString() };
  } catch (e) {
    publish("stage", isCancelled(e) || run.signal.aborted ? "cancelled" : "failed");
    // What is asked for after a cancellation works. One of the two may still be on its way when the other has failed.
    await payment.then(refund, () => {});
    await stock.then(release, () => {});
    throw e;
  }
});
