/** The jobs of a shop for the dashboard to show, with data of many kinds and errors caused by that data. */
import type { Clock, Milliseconds } from '../../../src/base/clock';
import { Job } from '../../../src/job/job';
import { Gate } from '../../support/application';

/** Determines how long these jobs take, and holds back those that stay running. The world's container injects it. */
export class Pace {
  readonly #clock: Clock | undefined;
  readonly #over = new Gate();

  /** @param clock a test clock; undefined if nothing should take time */
  constructor(clock: Clock | undefined) {
    this.#clock = clock;
  }

  async take(time: Milliseconds): Promise<void> {
    if (this.#clock === undefined) return;
    await new Promise<void>((resolve) => this.#clock!.after(time, resolve));
  }

  /** Waits until the world ends or the job is aborted. */
  async holdOn(signal: AbortSignal): Promise<void> {
    const told = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.#over.opened, told]);
    signal.throwIfAborted();
  }

  end(): void {
    this.#over.open();
  }
}

class MailRefused extends Error {
  override readonly name = 'MailRefused';
}

class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
}

export interface Customer {
  readonly name: string;
  readonly email: string;
}

@Job({ queue: 'mail', tries: 3 })
export class SendInvoice extends Job {
  constructor(
    readonly invoice: number,
    readonly customer: Customer,
    readonly dueOn: Date,
  ) {
    super();
  }

  async handle(): Promise<void> {
    await this.make(Pace).take(180 + (this.invoice % 7) * 40);
    const { email } = this.customer;
    if (email.endsWith('.invalid')) {
      throw new MailRefused(`550 5.1.2 <${email}>: Recipient address rejected: Domain not found`);
    }
  }
}

@Job({ queue: 'media', tries: 2 })
export class ResizeImage extends Job {
  constructor(
    readonly path: string,
    readonly widths: readonly number[],
  ) {
    super();
  }

  async handle(): Promise<void> {
    await this.make(Pace).take(900 * this.widths.length);
    const wrong = this.widths.find((width) => width <= 0);
    if (wrong !== undefined) throw new RangeError(`Expected positive integer for width but received ${wrong}`);
  }
}

@Job({ queue: 'sync', tries: 2 })
export class SyncCustomer extends Job {
  constructor(
    readonly customerId: string,
    readonly changed: ReadonlyMap<string, string | null>,
    readonly since: Date,
  ) {
    super();
  }

  async handle(): Promise<void> {
    await this.make(Pace).take(420);
    if (this.customerId.startsWith('gone-')) {
      const found = new Map<string, Customer>().get(this.customerId);
      // The bug: the result is used without a check.
      this.changed.has(found!.email);
    }
    if (this.customerId.startsWith('slow-')) {
      const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.4.17:443'), { code: 'ECONNREFUSED' });
      throw new Error('The customer service did not answer', { cause });
    }
  }
}

export interface Order {
  readonly number: string;
  readonly lines: readonly { readonly article: string; readonly count: number; readonly cents: bigint }[];
  readonly placedAt: Date;
}

@Job({ queue: 'payments' })
export class ChargeCard extends Job {
  constructor(
    readonly order: Order,
    readonly card: { readonly holder: string; readonly last4: string; readonly token: string },
  ) {
    super();
  }

  async handle(): Promise<void> {
    await this.make(Pace).take(1300);
    if (this.card.last4 === '0002') {
      throw new CardDeclined(
        `The bank declined order ${this.order.number} (authorization: Bearer ${this.card.token}); ask for another card`,
      );
    }
  }
}

@Job({ queue: 'accounts' })
export class CreateAccount extends Job {
  constructor(
    readonly email: string,
    readonly password: string,
    readonly profile: { readonly born: Date; readonly roles: ReadonlySet<string>; readonly apiKey: string },
  ) {
    super();
  }

  async handle(): Promise<void> {
    await this.make(Pace).take(65);
  }
}

@Job({ queue: 'reports', keepResult: '7d' })
export class NightlyReport extends Job {
  constructor(readonly day: Date) {
    super();
  }

  async handle(): Promise<ReadonlyMap<string, number>> {
    // The report of a day without sales never ends.
    if (this.day.getTime() === 0) await this.make(Pace).holdOn(this.signal);
    await this.make(Pace).take(14_500);
    return new Map([
      ['orders', 1284],
      ['revenue', 96_412.5],
    ]);
  }
}

@Job({ queue: 'imports', timeout: 0 })
export class ImportCatalogue extends Job {
  constructor(
    readonly file: string,
    readonly options: { readonly currency: string; readonly prune: boolean; readonly rows: number },
  ) {
    super();
  }

  async handle(): Promise<void> {
    const { rows } = this.options;
    await this.make(Pace).take(2200);
    if (this.file.endsWith('.json')) JSON.parse(`{"articles": [${'{"sku": "A-1"},'.repeat(3)}`);
    this.job.progress(0.35, `${Math.round(rows * 0.35).toLocaleString('en')} of ${rows.toLocaleString('en')} rows`);
    if (rows > 100_000) await this.make(Pace).holdOn(this.signal);
  }
}

@Job({ queue: 'default' })
export class NotifyTeam extends Job {
  constructor(
    readonly channel: string,
    readonly text: string,
  ) {
    super();
  }

  async handle(): Promise<void> {
    await this.make(Pace).take(35);
    if (this.text.includes('<')) throw new Error(`The chat refused </td><script>alert(1)</script> & "${this.text}"`);
  }
}

@Job({ queue: 'carts' })
export class SweepCarts extends Job {
  async handle(): Promise<void> {
    await this.make(Pace).take(50);
  }
}
