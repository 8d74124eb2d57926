/** Which jobs of a lane are in, in a SQLite file. There is one transaction at a time that writes, so nothing is locked. */
import type { Seconds } from '../../../base/clock';
import { MOST_JOBS } from '../../../base/collections';
import { HELD_AT, lanesOf, MAY_BE_IN, type Dialect, type LaneMove, type LaneStatements } from '../dialect';
import { rowsOf, run, written, type Row, type SqlRow, type SqlValue, type Work } from '../statement';
import { statementsOf, tailOf } from './schema';

/** What one call knows of a lane while its jobs come. */
interface OpenLane {
  /** How many more may come in. */
  room: number;
  /** Of the last one that is held. */
  order: number;
}

/** The lanes of a call's jobs, by their keys. */
export type OpenLanes = ReadonlyMap<string, OpenLane>;

/** A job that has become due: `place` is at the tail. */
interface DueJob extends LaneMove {
  readonly id: SqlValue;
  readonly place: number;
}

export class SqliteLanes implements LaneStatements {
  readonly #sql: ReturnType<typeof statementsOn>;
  readonly #now: () => Seconds;

  constructor(tables: Dialect['tables'], now: () => Seconds) {
    this.#sql = statementsOn(tables);
    this.#now = now;
  }

  // oxlint-disable-next-line require-yield -- there is nothing to lock
  *lock(): Work<void> {}

  *letIn(queue: string, lanes: readonly string[]): Work<number> {
    let count = 0;
    for (const lane of lanes) count += (yield* this.#open(queue, lane, true)).came;
    return count;
  }

  *held(queue: string, lane: string): Work<Row> {
    const { order } = yield* this.#open(queue, lane, false);
    return { place: null, available_at: HELD_AT, lane_order: order + 1 };
  }

  /** These have left their lanes: others come in. */
  *leave(moves: readonly LaneMove[]): Work<void> {
    for (const { queue, lane } of lanesOf(moves)) yield* this.#open(queue, lane, true);
  }

  /** Before jobs of a queue become ready: notes how many of each lane may be in, and lets in those that are held. */
  *come(jobs: readonly LaneMove[]): Work<OpenLanes> {
    const opened = new Map<string, OpenLane>();
    for (const { queue, lane, running } of lanesOf(jobs)) {
      yield* run(this.#sql.to('say', [queue, lane, running]));
      opened.set(lane, yield* this.#open(queue, lane, false));
    }
    return opened;
  }

  /** The columns of a job that comes next, as far as its lane says: `available_at`, `place`, `lane_order`. */
  next(lane: OpenLane, now: Seconds, place: number): readonly [Seconds, number | null, number] {
    if (lane.room <= 0) return [HELD_AT, null, (lane.order += 1)];
    lane.room -= 1;
    return [now, place, 0];
  }

  /** Of jobs that have become due, those stay in line whose lane has room. @param rows as `promote` returns them */
  *becomeReady(queue: string, rows: readonly SqlRow[]): Work<void> {
    const jobs = dueIn(queue, rows);
    if (jobs.length === 0) return;
    const opened = yield* this.come(jobs);
    const now = this.#now();
    yield jobs.map(({ id, place, lane }) => this.#sql.to('put', [id, ...this.next(opened.get(lane)!, now, place)]));
  }

  /** @param forgets whether nothing comes, so that a lane without jobs need not be known any longer */
  *#open(queue: string, lane: string, forgets: boolean): Work<OpenLane & { readonly came: number }> {
    let [row] = yield* rowsOf(this.#sql.one('look', [queue, lane]));
    if (row === undefined) {
      // Somebody has removed it. As the first of its jobs says.
      yield* run(this.#sql.to('know', [queue, lane]));
      [row] = yield* rowsOf(this.#sql.one('look', [queue, lane]));
    }
    const [most, inside, order] = row!.map(Number) as [number, number, number];
    const room = most - inside;
    const asked = order > 0 ? Math.min(room, MOST_JOBS) : 0;
    const came = asked > 0 ? yield* written(this.#sql.to('letIn', [queue, lane, this.#now(), asked])) : 0;
    if (forgets && inside + came === 0) yield* run(this.#sql.to('forget', [queue, lane]));
    // Nobody overtakes those that are held.
    return { room: came > 0 && came === asked ? 0 : room - came, order, came };
  }
}

/** In order. One of an ordered lane that was handed out before has kept its place there. */
function dueIn(queue: string, rows: readonly SqlRow[]): readonly DueJob[] {
  return rows
    .filter((row) => row[2] !== null && row[4] !== 0)
    .map(([id, place, lane, running]) => ({
      ...{ id: id!, queue },
      place: Number(place),
      lane: String(lane),
      running: Number(running),
    }))
    .toSorted((a, b) => a.place - b.place);
}

function statementsOn(tables: Dialect['tables']) {
  const [jobs, lanes] = [tables.jobs.text, tables.lanes.text];
  const ofLane = `FROM ${jobs} WHERE queue = ?1 AND lane = ?2`;
  return statementsOf({
    say: `INSERT INTO ${lanes} (queue, lane, running) VALUES (?1, ?2, ?3)
      ON CONFLICT DO UPDATE SET running = excluded.running WHERE running <> excluded.running`,
    know: `INSERT INTO ${lanes} (queue, lane, running)
      VALUES (?1, ?2, ifnull((SELECT lane_limit ${ofLane} AND lane_order > 0 ORDER BY lane_order LIMIT 1), 1))`,
    look: `SELECT ${MAY_BE_IN}, (SELECT count(*) ${ofLane} AND lane_order = 0),
        ifnull((SELECT max(lane_order) ${ofLane} AND lane_order IS NOT NULL), 0)
      FROM ${lanes} WHERE queue = ?1 AND lane = ?2`,
    letIn: `UPDATE ${jobs} SET place = ${tailOf(jobs, '?1')} + n, available_at = ?3, lane_order = 0
      FROM (
        SELECT chosen, row_number() OVER (ORDER BY lane_order, chosen) AS n
        FROM (SELECT id AS chosen, lane_order ${ofLane} AND lane_order > 0 ORDER BY lane_order, id LIMIT ?4)
      ) WHERE id = chosen`,
    put: `UPDATE ${jobs} SET available_at = ?2, place = ?3, lane_order = ?4 WHERE id = ?1`,
    forget: `DELETE FROM ${lanes} WHERE queue = ?1 AND lane = ?2 AND own_limit IS NULL AND NOT paused
      AND NOT EXISTS (SELECT 1 ${ofLane} AND lane_order IS NOT NULL)`,
  });
}
