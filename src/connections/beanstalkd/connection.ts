/** The `beanstalkd` driver: a queue is a tube, a lease is the time to run, a renewal is a touch. */
import { unbracketed } from '../kit/requirements';
import type { Seconds } from '../../base/clock';
import type { BeanstalkdConfig } from './driver';
import { Recent } from '../../base/collections';
import { JOBS_ALONE, type ConnectorContext } from '../driver';
import type {
  Buried,
  Connection,
  Diagnosis,
  Entry,
  RenewResult,
  Reservation,
  ReserveReply,
  Settled,
  Settlement,
  Wanted,
  Queues,
} from '../contract';
import { settledBeside, settledThen, StoreConnection, Waits, NOTHING } from '../kit/connection';
import { buriedJobs, clearTube, push, Tubes } from './tubes';
import { BeanstalkdCaller } from './caller';
import { diagnoseBeanstalkd, isDurable } from './diagnose';
import { Held, goesAtOnce, settle } from './settle';
import { entriesOf, tubeCounts, type Fields, type Reply } from './link';
import { Reserve, TubeWait } from './reserve';
import { Reservers } from './reserver';

const DEFAULT_URL = 'beanstalk://127.0.0.1';
const DEFAULT_PORT = 11_300;
const DEFAULT_PRIORITY = 512;

/** Sets of queues that workers wait on. */
const MOST_WAITS = 100;

export type BeanstalkdContext = Pick<ConnectorContext, 'name' | 'clock' | 'deadline' | 'retryAfter' | 'maxPayload'>;

/** Connects only with the first call. */
export class BeanstalkdConnection extends StoreConnection implements Connection {
  readonly driver = 'beanstalkd';
  readonly address: string;
  readonly capabilities = JOBS_ALONE.capabilities;
  readonly buried: Buried;
  readonly #context: BeanstalkdContext;
  readonly #priority: number;
  readonly #tubes: Tubes;
  readonly #caller: BeanstalkdCaller;
  readonly #reservers: Reservers;
  readonly #waits: Waits;
  /** By their tubes. */
  readonly #tubeWaits = new Recent<string, TubeWait>(MOST_WAITS, (wait) => wait.isIdle);
  #server: Fields | undefined;
  #forgotten = false;

  constructor(
    { url = DEFAULT_URL, prefix = '', priority = DEFAULT_PRIORITY }: BeanstalkdConfig,
    context: BeanstalkdContext,
  ) {
    super(context.name);
    const { hostname, port } = new URL(url);
    const place = { host: unbracketed(hostname), port: Number(port === '' ? DEFAULT_PORT : port) };
    this.address = `beanstalk://${hostname}:${place.port}`;
    this.#context = context;
    this.#priority = priority;
    this.#tubes = new Tubes(context.name, prefix);
    this.#caller = new BeanstalkdCaller({ ...context, address: this.address }, place, (facts) => this.#hear(facts));
    this.#reservers = new Reservers(this.#caller);
    this.#waits = new Waits(context.clock);
    this.buried = buriedJobs(this.#caller, this.#tubes, () => this.queues.names());
  }

  push(queue: string, entries: readonly Entry[]): Promise<void> {
    const { retryAfter } = this.#context;
    return this.#do('push', () =>
      push(this.#caller, this.#tubes.of(queue), entries, { priority: this.#priority, lease: retryAfter }),
    );
  }

  exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    return this.#do('exchange', async () => {
      const { current } = this.#reservers;
      const settling = settle(settlements);
      if (wanted === undefined) return { ...NOTHING, results: await settling };
      if (wanted.within !== undefined) {
        const wait = this.#waitOn(wanted.queues);
        return settledThen(await settling, () => this.#waits.reserve(wanted, wait, () => this.#reserve(wanted)));
      }
      // On one connection the server works in order. Otherwise the reserve would not see the settled jobs.
      const inOrder = settlements.every((settlement) => {
        const held = settlement.reservation.token;
        return held instanceof Held && held.reserver === current && goesAtOnce(held, settlement);
      });
      if (!inOrder) await settling;
      return settledBeside(settling, this.#reserve(wanted), settle);
    });
  }

  renew(reservations: readonly Reservation[], lease: Seconds): Promise<readonly RenewResult[]> {
    return this.#do('renew', async () => {
      const renewing = reservations.map(async ({ token }): Promise<RenewResult> =>
        token instanceof Held ? token.reserver.renew(token, lease) : 'lost',
      );
      await Promise.allSettled(renewing);
      return Promise.all(renewing);
    });
  }

  readonly queues: Queues = {
    names: () =>
      this.#do('queues', async () => {
        const consequence = 'the queues were not read';
        const { body } = await this.#caller.ask('list-tubes', consequence);
        const names = entriesOf(body).flatMap((tube) => this.#tubes.queueOf(tube) ?? []);
        const questions = names.map((name) => `stats-tube ${this.#tubes.of(name)}`);
        const states = await this.#caller.call(() => questions, { consequence, repeatable: true });
        const isUsed = (state: Reply): boolean => Object.values(tubeCounts(state)).some((count) => count > 0);
        return names.filter((_, index) => isUsed(states[index]!)).toSorted();
      }),
    counts: (queue) =>
      this.#do('counts', async () => {
        const consequence = `queue '${queue}' was not counted`;
        const reply = await this.#caller.ask(`stats-tube ${this.#tubes.of(queue)}`, consequence);
        const { ready, delayed, reserved } = tubeCounts(reply);
        return { ready, delayed, reserved };
      }),
    /** Jobs held by other connections stay: only their holders can end them. */
    clear: (queue) => this.#do('clear', () => clearTube(this.#caller, this.#reservers, this.#tubes.of(queue))),
  };

  diagnose(): Promise<readonly Diagnosis[]> {
    return this.#do('diagnose', () => diagnoseBeanstalkd(this.#caller, this.#context.maxPayload));
  }

  protected async end(): Promise<void> {
    this.#waits.close();
    await Promise.all([...this.#tubeWaits.values()].map((wait) => wait.end()));
    await this.#caller.idle();
    this.#reservers.close();
    this.#caller.close();
  }

  #waitOn(queues: readonly string[]): TubeWait {
    // A fair worker asks for its queues in another order each time.
    const tubes = [...new Set(queues)].toSorted().map((queue) => this.#tubes.of(queue));
    return this.#tubeWaits.ensure(tubes.join(), () => new TubeWait(this.#reservers, tubes));
  }

  async #reserve(request: Wanted): Promise<ReserveReply> {
    const reply = await new Reserve(this.#reservers, this.#tubes, request).run();
    const forgotten = this.#forgotten;
    this.#forgotten = false;
    return forgotten ? { ...reply, forgotten } : reply;
  }

  /** Detects that the server restarted without its jobs. */
  #hear(facts: Fields): void {
    if (this.#server !== undefined && this.#server.get('id') !== facts.get('id')) {
      this.#forgotten ||= !isDurable(this.#server) || !isDurable(facts);
    }
    this.#server = facts;
  }

  async #do<T>(operation: string, act: () => Promise<T>): Promise<T> {
    this.checkOpen(operation);
    return this.#caller.track(act());
  }
}
