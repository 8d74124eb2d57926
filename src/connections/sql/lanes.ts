/** The public view of the lanes of a database, and what lets in jobs whose places somebody has freed by hand. */
import { MOST_JOBS } from '../../base/collections';
import type { Finding, LaneChange, LanePage, LaneState, LaneStore } from '../contract';
import { isTrue, MAY_BE_IN, type Dialect } from './dialect';
import { countMany, few, MOST_AT_ONCE } from './queues';
import { repeatable, DatabasePart } from './database';
import { raw, rowsOf, sql, written, type Work } from './statement';
import { queues } from './jobs';

interface KnownLane extends LaneState {
  /** It has jobs, or was changed by hand. */
  readonly isListed: boolean;
}

export class SqlLanes extends DatabasePart implements LaneStore {
  async list(queue: string, after = ''): Promise<LanePage> {
    const known = await this.#page(queue, after);
    const lanes = known.flatMap(({ isListed, ...lane }) => (isListed ? [lane] : []));
    return { lanes, ...nextOf(known) };
  }

  async find(queue: string, lane: string): Promise<LaneState | undefined> {
    const [{ isListed, ...found } = { isListed: false }] = await this.#page(queue, '', lane);
    return isListed ? (found as LaneState) : undefined;
  }

  async change(queue: string, lane: string, change: LaneChange): Promise<void> {
    const { insertNew, lanes, tables, transaction, text } = this.dialect;
    const isLane = sql`queue = ${queue} AND lane = ${text(lane)}`;
    const set =
      'limit' in change
        ? sql`own_limit = ${change.limit ?? null}`
        : sql`paused = ${raw(change.paused ? 'TRUE' : 'FALSE')}`;
    const purpose = { ...repeatable(`the lane '${lane}' of queue '${queue}' was not changed`), durable: true };
    await this.database.run(purpose, () =>
      transaction(function* () {
        yield* lanes.lock(queue, lane);
        yield* written(insertNew(tables.lanes, { queue, lane }));
        yield* written(sql`UPDATE ${tables.lanes} SET ${set} WHERE ${isLane}`);
        yield* lanes.letIn(queue, [lane]);
      }),
    );
    this.database.wrote(queue);
  }

  /**
   * Lets in jobs that are held although there is room, as somebody has removed others by hand, and forgets lanes without jobs.
   *
   * @param only some queues. Absent: all
   */
  async recount(repair: boolean, only?: readonly string[]): Promise<readonly Finding[]> {
    const looking = 'the lanes were not recounted';
    const findings: Finding[] = [];
    for (const queue of only ?? (await this.database.run(looking, () => queues(this.dialect)))) {
      for (let after: string | undefined = ''; after !== undefined;) {
        const page: readonly KnownLane[] = await this.#page(queue, after);
        after = nextOf(page).next;
        const roomy = page.filter(({ paused, held, inside, running }) => !paused && held > 0 && inside < running);
        for (const { lane, running, inside } of roomy)
          findings.push({ kind: 'crowded', queue, lane, inside: running, found: inside });
        const moved = page.filter((lane) => !lane.isListed || roomy.includes(lane)).map(({ lane }) => lane);
        if (repair && moved.length > 0) await this.#letIn(queue, moved);
      }
    }
    return findings;
  }

  /** After all jobs of a queue are held or gone. Returns whether one came in. */
  async mend(queue: string): Promise<boolean> {
    const found = await this.database.run('no held job was let in', () => roomyLanes(this.dialect, queue));
    return found.length > 0 && (await this.#letIn(queue, found)) > 0;
  }

  /** Due jobs enter their lanes. Returns whether there were any. */
  async enter(queue: string): Promise<boolean> {
    const purpose = repeatable('no due job entered its lane');
    const { lanes } = this.dialect;
    return (await this.database.run(purpose, () => lanes.enter!(queue))) > 0;
  }

  #page(queue: string, after: string, only?: string): Promise<readonly KnownLane[]> {
    return this.database.inPieces('no lanes were listed', lanesBehind(this.dialect, queue, after, only));
  }

  /** @param lanes sorted */
  async #letIn(queue: string, lanes: readonly string[]): Promise<number> {
    const { dialect } = this;
    const purpose = repeatable('no held job was let in');
    const count = await this.database.run(purpose, () => dialect.transaction(() => dialect.lanes.letIn(queue, lanes)));
    if (count > 0) this.database.wrote(queue);
    return count;
  }
}

const nextOf = (page: readonly KnownLane[]): Pick<LanePage, 'next'> =>
  page.length < MOST_JOBS ? {} : { next: page.at(-1)!.lane };

/** Lanes with held jobs in a queue whose others are all gone. */
function* roomyLanes({ tables, read }: Dialect, queue: string): Work<readonly string[]> {
  const { jobs, lanes } = tables;
  const held = sql`SELECT 1 FROM ${jobs} AS job WHERE job.queue = known.queue AND job.lane = known.lane AND job.lane_order > 0`;
  const rows = yield* rowsOf(
    sql`SELECT ${read('lane')} FROM ${lanes} AS known WHERE queue = ${queue} AND NOT paused AND EXISTS (${held})
      ORDER BY known.lane LIMIT ${MOST_JOBS}`,
  );
  return rows.map(([lane]) => String(lane));
}

function* lanesBehind(dialect: Dialect, queue: string, after: string, only?: string): Work<readonly KnownLane[]> {
  const { tables, read, text } = dialect;
  const which = only === undefined ? sql`lane > ${text(after)}` : sql`lane = ${text(only)}`;
  const rows = yield* rowsOf(
    sql`SELECT ${read('lane')}, ${raw(MAY_BE_IN.replace('paused', 'FALSE'))}, paused, own_limit
      FROM ${tables.lanes} WHERE queue = ${queue} AND ${which} ORDER BY lane LIMIT ${MOST_JOBS}`,
  );
  if (rows.length === 0) return [];
  const those = rows.flatMap(([lane]) => {
    const ofLane = sql`FROM ${tables.jobs} WHERE queue = ${queue} AND lane = ${text(String(lane))}`;
    return [sql`${ofLane} AND lane_order = 0`, sql`${ofLane} AND lane_order > 0`];
  });
  const [counted = []] = yield* rowsOf(sql`SELECT ${those.map((some) => sql`(${few(dialect, some)})`)}`);
  const counts: number[] = [];
  for (const [at, count] of counted.entries()) {
    const isMany = Number(count) > MOST_AT_ONCE;
    counts.push(
      isMany ? yield* countMany(dialect, those[at]!, raw(at % 2 === 0 ? 'id' : 'lane_order')) : Number(count),
    );
  }
  return rows.map(([lane, running, isPaused = null, own = null], at) => {
    const [inside, held, paused] = [counts[2 * at]!, counts[2 * at + 1]!, isTrue(isPaused)];
    const isListed = inside + held > 0 || paused || own !== null;
    return { lane: String(lane), inside, held, running: Number(running), paused, isListed };
  });
}
