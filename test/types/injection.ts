/** What must and must not compile where dependencies are injected. Checked by the compiler; never run. */
import type { NamedToken } from '../../src/container/parameters';
import { inject } from '../../src/container/scope';
import { Inject } from '../../src/container/parameters';
import { Handles } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { JobContext } from '../../src/job/job-context';

class Mailer {
  async send(_to: string): Promise<void> {}
}
class SmtpMailer extends Mailer {
  readonly host = 'localhost';
}
class Alerts {
  alert(): void {}
}
abstract class Store {
  abstract get(): string;
}
interface Clock {
  now(): number;
}
const CLOCK = Symbol('clock') as NamedToken<Clock>;
const PLAIN = Symbol('plain');

// --- Parameters of methods ---

@Job()
export class Fits extends Job {
  handle(
    @Inject() _byType: Mailer,
    @Inject(Mailer) _byToken: Mailer,
    @Inject(SmtpMailer) _narrower: Mailer,
    @Inject(Store) _abstract: Store,
    @Inject(JobContext) _context: JobContext,
    @Inject(CLOCK) _clock: Clock,
    @Inject(PLAIN) _plain: Clock,
    @Inject('clock') _byName: Clock,
    @Inject(Mailer) _optional?: Mailer,
  ): void {}

  failed(_error: Error, @Inject(Alerts) _alerts: Alerts): void {}
}

export class FitsNot extends Job {
  // @ts-expect-error -- the token gives a Mailer, the parameter is Alerts
  handle(@Inject(Mailer) _alerts: Alerts): void {}

  // @ts-expect-error -- the token gives a wider type than the parameter
  failed(_error: Error, @Inject(Mailer) _narrower: SmtpMailer): void {}

  // @ts-expect-error -- the named token gives a Clock
  middleware(@Inject(CLOCK) _mailer: Mailer): void {}
}

// --- Constructors ---

@Job()
class Order {
  constructor(readonly number: number) {}
}
@Job()
class Other {
  constructor(readonly text: string) {}
}

@Handles(Order)
export class OrderHandler {
  readonly context = inject(JobContext);
  readonly clock: Clock = inject(CLOCK);
  constructor(
    readonly mailer: Mailer,
    @Inject(Alerts) readonly alerts: Alerts,
  ) {}
  async handle(job: Order, @Inject(Mailer) _mailer: Mailer): Promise<number> {
    return job.number;
  }
}

export class WrongConstructor {
  constructor(
    // @ts-expect-error -- the token gives Alerts
    @Inject(Alerts) readonly mailer: Mailer,
  ) {}
}

export class PrivateConstructor {
  private constructor(@Inject(Mailer) readonly mailer: Mailer) {}
  static make(): PrivateConstructor {
    return new PrivateConstructor(new Mailer());
  }
}

// --- Handlers ---

// @ts-expect-error -- handles another job than the decorator says
@Handles(Order)
export class WrongJob {
  handle(_job: Other): void {}
}

// @ts-expect-error -- handles nothing
@Handles(Order)
export class NoHandle {}

// @ts-expect-error -- not a class
@Handles('Order')
export class NoClass {
  handle(): void {}
}

// --- this.make() and inject() ---

@Job()
export class Makes extends Job {
  handle(): string {
    const mailer: Mailer = this.make(Mailer);
    const store: Store = this.make(Store);
    const clock: Clock = this.make(CLOCK);
    const named = this.make<Clock>('clock');
    void mailer.send(String(clock.now() + named.now()));
    // @ts-expect-error -- the token gives a Mailer
    const alerts: Alerts = this.make(Mailer);
    // @ts-expect-error -- the token gives a Mailer
    const injected: Alerts = inject(Mailer);
    alerts.alert();
    injected.alert();
    return store.get();
  }
}
