/** Orders to the workers of a database. Once confirmed they are on disk, like pushes. */
import type { Seconds } from '../../base/clock';
import { uuidv7 } from '../../payload/uuid';
import {
  pauseOf,
  type CancelResult,
  type Control,
  type Entry,
  type Pause,
  type RunningLimit,
  type RescheduleResult,
  type Reservation,
} from '../contract';
import { tiesAtEnd, type Batches } from './batches';
import { FENCE, tiedIn, type Dialect, type ReservationToken } from './dialect';
import { orderOf, repeatable, DatabasePart, type Purpose, type Database } from './database';
import { numberOf, numeral, raw, rowsOf, runAll, sql, written, type Row, type Sql, type Work } from './statement';
import { cancel, cancelledOf, readSomeIds, withId } from './jobs';

/** Jobs of other programs whose ids are read in one call. */
const PAGE = 100;

type Given<T extends { readonly result: string }> = T & { readonly result: Exclude<T['result'], 'raced'> };

const isGiven = <T extends { readonly result: string }>(done: T): done is Given<T> => done.result !== 'raced';

export class SqlControl extends DatabasePart implements Control {
  readonly #batches: Batches;

  constructor(database: Database, batches: Batches) {
    super(database);
    this.#batches = batches;
  }

  async cancel(
    id: string,
    queue?: string,
    reason?: string,
    left?: (queue: string, payload: Buffer) => void,
  ): Promise<CancelResult> {
    const order = orderOf(`job ${id} was not cancelled`);
    const done = await this.#ordered(order, () =>
      this.#batches.removing(order, () => cancel(this.dialect, id, queue, reason)),
    );
    if (done.left !== undefined) left?.(done.left.queue, done.left.payload);
    return done.result;
  }

  async cancelled(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]> {
    const ids = reservations.map(({ token }) => (token as ReservationToken).id);
    const consequence = 'no job learned that it was cancelled';
    const cancelled = await this.database.run(consequence, () => cancelledOf(this.dialect, ids));
    return ids.map((id) => cancelled.get(id) ?? false);
  }

  async reschedule(id: string, to: Moment, queue?: string): Promise<RescheduleResult | 'debounced'> {
    const order = orderOf(`job ${id} was not rescheduled`);
    const done = await this.#ordered(order, () =>
      this.database.run(order, () => reschedule(this.dialect, id, to, queue)),
    );
    if (done.queue !== undefined) this.database.wrote(done.queue);
    return done.result;
  }

  /** Gives an order to a job until it was not `raced`. */
  async #ordered<T extends { readonly result: string }>(order: Purpose, give: () => Promise<T>): Promise<Given<T>> {
    const reading: Purpose = { ...order, writes: 'repeatable' };
    for (;;) {
      const done = await give();
      if (!isGiven(done)) continue;
      // The job may be one of another program, whose payload's id nobody has read yet. Each is read once.
      if (done.result !== 'unknown' || !(await this.database.run(reading, () => readSomeIds(this.dialect, PAGE))))
        return done;
    }
  }

  async pause(queue: string, seconds: Seconds = Infinity): Promise<boolean> {
    const { tables, replace, after } = this.dialect;
    const wasPaused = await this.database.run(orderOf(`queue '${queue}' was not paused`), () => {
      const ends = seconds === Infinity ? null : after(seconds);
      const pause = replace(tables.orders, ['kind', 'value'], { kind: 'pause', value: queue, ends_at: ends });
      return this.#changePaused(queue, pause);
    });
    return !wasPaused;
  }

  async resume(queue: string): Promise<boolean> {
    const wasPaused = await this.database.run(orderOf(`queue '${queue}' was not resumed`), () =>
      this.#changePaused(
        queue,
        sql`DELETE FROM ${this.dialect.tables.orders} WHERE kind = 'pause' AND value = ${queue}`,
      ),
    );
    this.database.wrote(queue);
    return wasPaused;
  }

  async limit(queue: string, running?: number): Promise<void> {
    const { tables, replace } = this.dialect;
    const change =
      running === undefined
        ? sql`DELETE FROM ${tables.orders} WHERE kind = 'running' AND value = ${queue}`
        : replace(tables.orders, ['kind', 'value'], { kind: 'running', value: queue, amount: running });
    const order = orderOf(`the limit of queue '${queue}' was not changed`);
    await this.database.run({ ...order, writes: 'repeatable' }, () => written(change));
    this.database.wrote(queue);
  }

  async limits(): Promise<readonly RunningLimit[]> {
    const { read, tables } = this.dialect;
    const rows = await this.database.run('no limits were listed', () =>
      rowsOf(sql`SELECT ${read('value')}, amount FROM ${tables.orders} WHERE kind = 'running'`),
    );
    const limits = rows.map(([queue, amount]) => ({ queue: String(queue), running: Number(amount) }));
    return limits.toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  }

  async paused(): Promise<readonly Pause[]> {
    const { read } = this.dialect;
    const [paused, over] = await this.database.run('no paused queues were listed', () =>
      runAll([sql`SELECT ${read('value')}, ends_at ${this.#paused}`, sql`SELECT 1 ${this.#over} LIMIT 1`]),
    );
    if (over!.rows.length > 0) await this.#tidy();
    const pauses = paused!.rows.map(([queue, until]) => pauseOf(String(queue), (numberOf(until) ?? Infinity) * 1000));
    return pauses.toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  }

  /** Removes pauses that are over, so that they do not pile up. */
  async #tidy(): Promise<void> {
    const purpose = repeatable('pauses that are over were not removed');
    await this.database.run(purpose, () => written(sql`DELETE ${this.#over}`)).catch(() => undefined);
  }

  async restart(): Promise<void> {
    const { tables, insertNew } = this.dialect;
    const token = uuidv7();
    const purpose: Purpose = { ...orderOf('no worker was told to restart'), writes: 'repeatable' };
    await this.database.run(purpose, function* () {
      // The largest token counts, which is the latest, so two restarts at the same time do not undo each other.
      yield* written(insertNew(tables.orders, { kind: 'restart', value: token }));
      yield* written(sql`DELETE FROM ${tables.orders} WHERE kind = 'restart' AND value < ${token}`);
    });
  }

  /** Returns whether the queue was paused before. */
  *#changePaused(queue: string, change: Sql): Work<boolean> {
    const before = yield* rowsOf(sql`SELECT 1 ${this.#paused} AND value = ${queue}`);
    yield* written(change);
    return before.length > 0;
  }

  get #over(): Sql {
    const { tables, now } = this.dialect;
    return sql`FROM ${tables.orders} WHERE kind = 'pause' AND ends_at <= ${now()}`;
  }

  get #paused(): Sql {
    const { tables, now } = this.dialect;
    return sql`FROM ${tables.orders} WHERE kind = 'pause' AND (ends_at IS NULL OR ends_at > ${now()})`;
  }
}

type Moment = Pick<Entry, 'delay' | 'dueAt'>;

interface Rescheduled {
  /** `raced`: it is not delayed any more. */
  readonly result: RescheduleResult | 'debounced' | 'raced';
  /** The queue that was written to. */
  readonly queue?: string | undefined;
}

/** Several jobs may have this id: prefers a delayed one, then a running one. */
function* reschedule(
  dialect: Dialect,
  id: string,
  { delay = 0, dueAt }: Moment,
  named: string | undefined,
): Work<Rescheduled> {
  const { tables, read, now, line, tiedEnd, waiting, lastInLine, lanes, transaction } = dialect;
  const { delayed, reserved } = line.state;
  const [row] = yield* rowsOf(
    sql`SELECT CASE WHEN ${delayed} THEN 'delayed' WHEN ${reserved} THEN 'running' ELSE 'ready' END,
        id, ${read('queue')}, ${raw(FENCE)}, ${tiedEnd}, ${now()}, ${read('lane')}, lane_order
      ${withId(dialect, id, named)} ORDER BY CASE WHEN ${delayed} THEN 0 WHEN ${reserved} THEN 1 ELSE 2 END, id LIMIT 1`,
  );
  if (row === undefined) return { result: 'unknown' };
  const [state, job, own, fence, end = null, time, lane = null, order = null] = row;
  const queue = String(own);
  if (String(state) !== 'delayed') return { result: String(state) as 'ready' | 'running' };
  const current = Number(time);
  const due = dueAt === undefined ? current + delay : dueAt / 1000;
  const waits = due > current;
  const isDebounced = tiedIn([end]).some((text) => tiesAtEnd(text)?.debounce !== undefined);
  if (waits && isDebounced && Number(fence) === 0) return { result: 'debounced' };
  function* move(columns: Row): Work<Rescheduled> {
    const changes = Object.entries(columns).map(([name, value]) => sql`${raw(name)} = ${value}`);
    const change = sql`UPDATE ${tables.jobs} SET ${changes} WHERE id = ${numeral(job!)} AND ${delayed}`;
    if ((yield* written(change)) === 0) return { result: 'raced' };
    return { result: waits ? 'rescheduled' : 'ready', queue };
  }
  if (waits) return yield* move(waiting(due));
  // One of an ordered lane that waits for its next attempt is in.
  if (lane === null || order !== null) return yield* move(yield* lastInLine(queue, current));
  return yield* transaction(function* () {
    yield* lanes.lock(queue, String(lane));
    const moved = yield* move(yield* lanes.held(queue, String(lane)));
    yield* lanes.letIn(queue, [String(lane)]);
    return moved;
  });
}
