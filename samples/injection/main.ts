/**
 * Dependencies are injected into `handle()`, data travels in the job. Shows injection by class, by token, into a handler
 * class, and where parameters cannot be decorated.
 */
import {
  Handles,
  Inject,
  inject,
  Job,
  type JobContext,
  JobContext as Context,
  Queue,
  silentLogger,
  Worker,
} from 'onqueue';
import { container, injectable, Lifecycle, scoped, singleton } from 'tsyringe';

const QUEUE = 'orders';
/** A token for something that is not a class. */
const CURRENCY = Symbol('currency');

@singleton()
class Prices {
  readonly #prices = new Map([
    ['tea', 4],
    ['cake', 6],
  ]);

  of(article: string): number {
    return this.#prices.get(article) ?? 0;
  }
}

/** A new one for each run. It is disposed of when the run ends. */
@scoped(Lifecycle.ContainerScoped)
class Basket {
  #total = 0;

  add(price: number): void {
    this.#total += price;
  }

  get total(): number {
    return this.#total;
  }

  dispose(): void {
    console.log(`  basket with ${this.#total} disposed of`);
  }
}

@Job({ queue: QUEUE })
class PlaceOrder extends Job {
  constructor(readonly articles: string[]) {
    super();
  }

  async handle(
    @Inject(Prices) prices: Prices,
    @Inject(Basket) basket: Basket,
    @Inject(CURRENCY) currency: string,
  ): Promise<void> {
    for (const article of this.articles) basket.add(prices.of(article));
    console.log(`order of ${this.articles.join(' and ')}: ${basket.total} ${currency}`);
  }
}

/** A job that is only data; `SendReceiptHandler` runs it. */
@Job({ queue: QUEUE })
class SendReceipt {
  constructor(readonly customer: string) {}
}

@Handles(SendReceipt)
@injectable()
export class SendReceiptHandler {
  // Where the compiler emits types, the type alone is enough. `@Inject(Prices)` works everywhere.
  constructor(@Inject(Prices) private readonly prices: Prices) {}

  async handle(job: SendReceipt, @Inject(Context) context: JobContext): Promise<void> {
    console.log(`receipt for ${job.customer}: a tea is ${this.prices.of('tea')} (attempt ${context.attempts})`);
  }
}

@Job({ queue: QUEUE })
class CountStock extends Job {
  async handle(): Promise<void> {
    // Where parameters cannot be decorated, as with standard decorators: `make` inside a job, `inject` anywhere in a run.
    const prices = this.make(Prices);
    console.log(`stock counted with the same price list: ${prices === inject(Prices)}`);
  }
}

async function main(): Promise<void> {
  container.registerInstance(CURRENCY, 'euro');
  Queue.configure({ connections: { memory: { driver: 'memory' } }, logger: silentLogger });

  await PlaceOrder.dispatch(['tea', 'cake']);
  await PlaceOrder.dispatch(['tea']);
  await Queue.push(new SendReceipt('Ada'));
  await CountStock.dispatch();
  await new Worker({ queue: QUEUE, drain: true }).run();
  await Queue.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
