/**
 * The `failover` driver: jobs go to the first of several connections that takes them. The first one does everything else.
 *
 * A push whose answer was lost goes to no other connection: it may have been carried out, and its jobs would run twice.
 */
import { pauseAfter, type Milliseconds } from '../../base/clock';
import type { NewBatch } from '../batch-store';
import type { Connection, Diagnosis, Entry, Pushed, Settled, Settlement, Wanted, AtOnce, Failover } from '../contract';
import type { ConnectorContext } from '../driver';
import { ConnectionClosedError, QueueUnavailableError } from '../errors';
import { pagesOf } from '../../base/collections';
import { entriesFor } from '../entries';

/** What a failover leaves to its first connection. */
const OF_FIRST = [
  ...(['capabilities', 'isAway', 'renew', 'threadAccess', 'queues'] as const),
  ...(['failed', 'buried', 'locks', 'keys', 'batches', 'lanes', 'records', 'control'] as const),
] satisfies readonly (keyof Connection)[];

type OfFirst = Pick<Connection, (typeof OF_FIRST)[number]>;

class StandIn {
  constructor(protected readonly first: Connection) {}
}

for (const name of OF_FIRST) {
  Object.defineProperty(StandIn.prototype, name, {
    get(this: StandIn): unknown {
      const member: unknown = this.first[name];
      return typeof member === 'function' ? member.bind(this.first) : member;
    },
  });
}

export class FailoverConnection
  extends (StandIn as new (first: Connection) => StandIn & OfFirst)
  implements Connection
{
  readonly name: string;
  readonly driver = 'failover';
  readonly #context: ConnectorContext;
  readonly #members: readonly Member[];
  #toldWorkers = false;
  #standIn: string | undefined;
  #closed = false;

  constructor(names: readonly string[], context: ConnectorContext) {
    const members = names.map((name) => new Member(name, context));
    super(members[0]!.connection);
    this.name = context.name;
    this.#context = context;
    this.#members = members;
  }

  get address(): string {
    return this.#members.map(({ connection }) => connection.address).join(', else ');
  }

  /** The first answer counts: a connection that is away must not keep a job from the others. */
  async now(): Promise<Milliseconds> {
    const inTurn = this.#members.toSorted((a) => (a.name === this.#standIn ? -1 : 0));
    for (const { connection } of inTurn) {
      const told = await connection.now?.().catch(() => undefined);
      if (told !== undefined) return told;
    }
    return this.#context.clock.now();
  }

  get failover(): Failover {
    return { first: this.first, standIn: this.#standIn };
  }

  /** Pushes are divided among the members. */
  get atOnce(): AtOnce {
    return { calls: this.first.atOnce?.calls };
  }

  async push(queue: string, entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | void> {
    this.#checkOpen('push');
    // The jobs of a batch are counted where the batch is kept.
    if (begins !== undefined || entries[0]?.ties?.batch !== undefined) return this.first.push(queue, entries, begins);
    const results: Pushed[] = [];
    let isTold = false;
    // A connection takes all of a page or nothing. Of a longer list it might take a part, and that part would go to another
    // connection as well.
    for (const page of pagesOf(entries, ({ payload }) => Buffer.byteLength(payload))) {
      const pushed = await this.#push(queue, page);
      isTold ||= pushed !== undefined;
      results.push(...(pushed ?? page.map(() => 'queued' as const)));
    }
    return isTold ? results : undefined;
  }

  async #push(queue: string, entries: readonly Entry[]): Promise<readonly Pushed[] | undefined> {
    const failures: QueueUnavailableError[] = [];
    // A connection without unique keys or lanes would let every job in.
    const isTied = entries.some(({ ties }) => ties?.unique !== undefined || ties?.debounce !== undefined);
    const isLaned = entries.some(({ ties }) => ties?.lane !== undefined);
    const able = this.#members.filter(
      ({ connection: { keys, lanes } }) => (!isTied || keys !== undefined) && (!isLaned || lanes !== undefined),
    );
    for (const member of inTurn(able, queue)) {
      const pushed = await member.push(queue, entries);
      if (pushed instanceof QueueUnavailableError) {
        failures.push(pushed);
        continue;
      }
      this.#standIn = member === this.#members[0] ? undefined : member.name;
      return pushed;
    }
    throw refusedByAll(failures);
  }

  exchange(settlements: readonly Settlement[], wanted?: Wanted): Promise<Settled> {
    if (wanted !== undefined) this.#tellWorkers();
    return this.first.exchange(settlements, wanted);
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#checkOpen('diagnose');
    const { queue } = this.#context;
    const found: Diagnosis[] = [];
    let taker: Member | undefined;
    for (const member of this.#members) {
      try {
        const ready = await member.look(queue);
        if (ready > 0 && member !== this.#members[0]) found.push(this.#waiting(member, queue, ready));
        taker ??= member;
      } catch (error) {
        const message = `'${member.name}' takes no jobs: ${(error as Error).message}`;
        found.push({ level: 'warning', subject: this.name, message });
      }
    }
    const taking: Diagnosis =
      taker === undefined
        ? { level: 'error', subject: this.name, message: 'no connection takes jobs' }
        : { level: 'ok', subject: this.name, message: `jobs go to '${taker.name}'` };
    return [taking, ...found];
  }

  /** Closes the first connection, which does everything but push. The others are closed by whoever opened them. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.first.close();
  }

  #waiting({ name }: Member, queue: string, ready: number): Diagnosis {
    const message = `${ready} jobs wait in '${queue}' of '${name}', for a worker of its own: onqueue work ${name}`;
    return { level: 'warning', subject: this.name, message };
  }

  #tellWorkers(): void {
    if (this.#toldWorkers) return;
    this.#toldWorkers = true;
    const [first, ...others] = this.#members.map(({ name }) => name) as [string, ...string[]];
    const commands = others.map((name) => `onqueue work ${name}`).join(', ');
    this.#context.logger.info(
      { connection: this.name },
      `A worker of '${this.name}' takes the jobs of '${first}' alone. Those that go elsewhere while that is away wait for ` +
        `a worker of their own: ${commands}`,
    );
  }

  #checkOpen(operation: string): void {
    if (this.#closed) throw new ConnectionClosedError(this.name, operation);
  }
}

/** Members that seem to be away come last: they are tried before a job is refused. */
function* inTurn(members: readonly Member[], queue: string): Iterable<Member> {
  const left: Member[] = [];
  for (const member of members) {
    if (member.isWorthATry(queue)) yield member;
    else left.push(member);
  }
  yield* left;
}

/** The last member's error, with the reasons of the others. */
function refusedByAll(failures: readonly QueueUnavailableError[]): Error {
  const { facts, cause } = failures.at(-1)!;
  const others = failures
    .slice(0, -1)
    .map(({ facts: { connection, reason } }) => `'${connection}' (${reason ?? 'silent'})`);
  const neither = others.length === 0 ? '' : ` Neither did ${others.join(', ')} take it.`;
  const remedy = `${facts.remedy ?? 'Is it running?'}${neither}`;
  return new QueueUnavailableError({ ...facts, remedy }, { cause });
}

/** Pauses between two looks at a member that is away; they grow if it answers but takes nothing. */
const BACKOFF = { first: 1000, longest: 30_000 };

/** One connection of a failover, and whether it takes jobs at the moment. */
class Member {
  readonly name: string;
  readonly #context: ConnectorContext;
  /** Failed pushes since it last took one. */
  #failures = 0;
  /** It has answered: the next push tries it. Other pushes wait until the result is known. */
  #mayBeBack = false;
  #isAsked = false;
  #askAt: Milliseconds = -Infinity;

  constructor(name: string, context: ConnectorContext) {
    this.name = name;
    this.#context = context;
  }

  get connection(): Connection {
    return this.#context.manager.driver(this.name);
  }

  /** Whether a push tries it in its turn: if it is away, the push would wait for its deadline in vain. */
  isWorthATry(queue: string): boolean {
    if (this.#failures === 0) return true;
    const isWorth = this.#mayBeBack;
    this.#mayBeBack = false;
    if (!isWorth) this.#ask(queue);
    return isWorth;
  }

  /**
   * Returns what happened to each entry; undefined if all were queued; an error if it took none.
   *
   * @throws QueueUnavailableError it may have taken them: sent to another member as well, they would run twice
   */
  async push(queue: string, entries: readonly Entry[]): Promise<QueueUnavailableError | readonly Pushed[] | undefined> {
    let pushed: readonly Pushed[] | void;
    try {
      const { connection } = this;
      const jobs = entries.map((entry) => ({ entry }));
      pushed = await connection.push(queue, await entriesFor(connection, jobs));
    } catch (error) {
      if (!(error instanceof QueueUnavailableError)) throw error;
      this.#noteAbsence(error, queue);
      if (error.facts.uncertain === true) throw error;
      return error;
    }
    this.#noteReturn();
    return pushed ?? undefined;
  }

  /** How many jobs are ready in the queue. @throws what it throws */
  async look(queue: string): Promise<number> {
    return (await this.connection.queues.counts(queue)).ready;
  }

  #noteAbsence(error: QueueUnavailableError, queue: string): void {
    const { manager, name } = this.#context;
    this.#failures += 1;
    this.#leaveAlone();
    if (this.#failures > 1) return;
    const during = `'${this.name}' takes no jobs of '${name}', and the connections behind it are asked until it does`;
    manager.report(error, { during, connection: this.name, queue });
  }

  #noteReturn(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#mayBeBack = false;
    const { logger, name } = this.#context;
    logger.info({ connection: this.name }, `'${this.name}' takes jobs of '${name}' again.`);
  }

  // Nobody waits for this call, and it can do no harm.
  #ask(queue: string): void {
    if (this.#isAsked || this.#context.clock.monotonic() < this.#askAt) return;
    this.#isAsked = true;
    const answered = (mayBeBack: boolean): void => {
      this.#isAsked = false;
      this.#mayBeBack = mayBeBack && this.#failures > 0;
      if (!mayBeBack) this.#leaveAlone();
    };
    this.look(queue).then(
      () => answered(true),
      () => answered(false),
    );
  }

  #leaveAlone(): void {
    const { clock, manager } = this.#context;
    this.#askAt = clock.monotonic() + pauseAfter(this.#failures - 1, BACKOFF, manager.random);
  }
}
