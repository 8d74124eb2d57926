/**
 * Which jobs of a lane are in, on MySQL. Jobs of a lane are pushed as held, and then let in, in one packet. The row of a lane is its
 * lock: it is taken after the rows of jobs that end and of their batches, before others, several in the order of their names.
 *
 * Due jobs enter their lanes in a packet of their own, as only the server knows which they are.
 */
import { MOST_JOBS } from '../../../base/collections';
import { lanesOf, MAY_BE_IN, type LaneMove, type LaneStatements } from '../dialect';
import { numeral, raw, rowsOf, run, runEach, sql, valueOf, written, type Sql, type Work } from '../statement';
import { packet } from './pool';
import { availableAt, DELAYED, findTail, HELD_AT, NEVER, type MysqlNames } from './rows';

/** Rows of lanes without jobs that a push looks for. With two, no more are left over in the long run than there are lanes with jobs. */
const SWEPT = 2;

/**
 * The statements of a packet that moves jobs of lanes: around those that add jobs, and after those that end some. None if there are
 * no lanes.
 *
 * @param come lanes of jobs that come, which say how many may be in
 * @param keepPlaces what is added keeps its places in line: only for one queue, whose tail is in `@onqueue_first`
 */
export function around(
  names: MysqlNames,
  adding: readonly Sql[],
  come: readonly LaneMove[],
  { left = [], keepPlaces = false }: { readonly left?: readonly LaneMove[]; readonly keepPlaces?: boolean },
): readonly Sql[] {
  if (come.length + left.length === 0) return adding;
  const moves = lanesOf([...left, ...come]);
  return [
    lock(names, moves, lanesOf(come)),
    findOrder(names, moves),
    ...adding,
    ...(keepPlaces ? [] : [NONE_IS_NEW]),
    ...moves.flatMap(({ queue, lane }) => letIn(names, queue, lane)),
    ...(come.length === 0 ? [] : [sweep(names, moves[0]!)]),
  ];
}

/** Above every order. */
const NONE_IS_NEW = raw('SET @onqueue_order = ~0 >> 1');

/** The condition for the jobs of a lane, by the index. */
const ofLane = ({ jobs, laned }: MysqlNames, queue: string, lane: string): Sql =>
  sql`FROM ${jobs} FORCE INDEX (${laned}) WHERE queue = ${queue} AND lane = ${Buffer.from(lane)}`;

/** @param says those of them that say how many may be in */
function lock({ lanes }: MysqlNames, moves: readonly LaneMove[], says: readonly LaneMove[]): Sql {
  const rows = moves.map(({ queue, lane, running }) => sql`(${queue}, ${Buffer.from(lane)}, ${running})`);
  const said = says.map(({ queue, lane }) => sql`(${queue}, ${Buffer.from(lane)})`);
  const isSaid = said.length === 0 ? raw('FALSE') : sql`(${lanes}.queue, ${lanes}.lane) IN (${said})`;
  return sql`INSERT INTO ${lanes} (queue, lane, running) VALUES ${rows}
    ON DUPLICATE KEY UPDATE running = IF(${isSaid}, VALUES(running), ${lanes}.running)`;
}

/** Sets `@onqueue_order` to an order behind all held jobs of these lanes. */
function findOrder(names: MysqlNames, moves: readonly LaneMove[]): Sql {
  const lasts = moves.map(
    ({ queue, lane }) => sql`COALESCE((SELECT MAX(lane_order) ${ofLane(names, queue, lane)}), 0)`,
  );
  return sql`SELECT GREATEST(0, ${lasts}) INTO @onqueue_order`;
}

/** Lets in held jobs, as many as a call moves. Those that this packet has added keep their places in line, unless others come in before. */
function letIn(names: MysqlNames, queue: string, lane: string): readonly Sql[] {
  const { jobs, lanes } = names;
  const held = sql`SELECT id, lane_order ${ofLane(names, queue, lane)} AND lane_order > 0 ORDER BY lane_order, id LIMIT ${MOST_JOBS}`;
  return [
    sql`SELECT ${raw(MAY_BE_IN)} - (SELECT COUNT(*) ${ofLane(names, queue, lane)} AND lane_order = 0) INTO @onqueue_room
      FROM ${lanes} WHERE queue = ${queue} AND lane = ${Buffer.from(lane)}`,
    findTail(names, queue),
    sql`UPDATE (
        SELECT id, lane_order, ROW_NUMBER() OVER (ORDER BY lane_order, id) AS n, MIN(lane_order) OVER () > @onqueue_order AS is_new
        FROM (${held}) AS held
      ) AS chosen STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = chosen.id
      SET place = IF(is_new, @onqueue_first + chosen.lane_order - @onqueue_order, @onqueue_tail + n), due_at = NULL,
        available_at = ${availableAt(undefined)}, job.lane_order = 0
      WHERE n <= @onqueue_room`,
  ];
}

/** The condition that the lane `found` need not be known. */
const isEmpty = ({ jobs, laned }: MysqlNames): Sql =>
  sql`found.own_limit IS NULL AND NOT found.paused AND NOT EXISTS (
    SELECT 1 FROM ${jobs} AS job FORCE INDEX (${laned})
    WHERE job.queue = found.queue AND job.lane = found.lane AND job.lane_order IS NOT NULL)`;

/** Removes the rows of lanes without jobs next to one. If somebody is about to use them, they are left to them: nobody waits here. */
function sweep(names: MysqlNames, { queue, lane }: LaneMove): Sql {
  const { lanes } = names;
  return sql`DELETE kept FROM (
      SELECT found.queue, found.lane FROM (
        SELECT queue, lane FROM ${lanes} WHERE queue = ${queue} AND lane > ${Buffer.from(lane)} ORDER BY queue, lane LIMIT ${SWEPT}
      ) AS next STRAIGHT_JOIN ${lanes} AS found ON found.queue = next.queue AND found.lane = next.lane
      WHERE ${isEmpty(names)}
      FOR UPDATE SKIP LOCKED
    ) AS gone STRAIGHT_JOIN ${lanes} AS kept ON kept.queue = gone.queue AND kept.lane = gone.lane`;
}

export const mysqlLanes = (names: MysqlNames): LaneStatements => ({
  lock: (queue, lane) => run(lock(names, [{ queue, lane, running: 1 }], [])),
  *letIn(queue, lanes) {
    const known = yield* firstLimits(names, queue, lanes);
    const moves = lanes.map((lane) => ({ queue, lane, running: known.get(lane) ?? 1 }));
    yield* run(lock(names, moves, []));
    let count = 0;
    for (const lane of lanes) {
      yield* runEach([sql`SET @onqueue_now = ${names.now()}`, NONE_IS_NEW]);
      const statements = letIn(names, queue, lane);
      yield* runEach(statements.slice(0, -1));
      count += yield* written(statements.at(-1)!);
    }
    yield* run(
      sql`DELETE found FROM ${names.lanes} AS found
        WHERE queue = ${queue} AND lane IN (${lanes.map((lane) => Buffer.from(lane))}) AND ${isEmpty(names)}`,
    );
    return count;
  },
  *held(queue, lane) {
    const last = yield* valueOf(sql`SELECT COALESCE(MAX(lane_order), 0) ${ofLane(names, queue, lane)}`);
    return { due_at: HELD_AT, available_at: NEVER, place: null, lane_order: Number(last) + 1 };
  },
  *enter(queue) {
    const { jobs } = names;
    const at = names.now();
    const isDue = sql`state = ${DELAYED} AND turn <= ${at} AND lane IS NOT NULL AND lane_order IS NULL`;
    const due = yield* rowsOf(
      sql`SELECT id, lane, lane_limit FROM ${jobs} FORCE INDEX (${names.turns}) WHERE queue = ${queue} AND ${isDue}
        ORDER BY turn, id LIMIT ${MOST_JOBS}`,
    );
    if (due.length === 0) return 0;
    const come = due.map(([, lane, running]) => ({ queue, lane: String(lane), running: Number(running) }));
    const orders = due.map(([id], index) => sql`WHEN ${numeral(String(id))} THEN ${index + 1}`);
    const ids = due.map(([id]) => numeral(String(id)));
    const hold = sql`UPDATE ${jobs} FORCE INDEX (PRIMARY) SET due_at = ${HELD_AT}, available_at = ${NEVER},
        lane_order = @onqueue_order + CASE id ${orders.reduce((some, one) => sql`${some} ${one}`)} END
      WHERE id IN (${ids}) AND ${isDue}`;
    yield* packet([
      sql`SET @onqueue_now = ${at}`,
      findTail(names, queue, raw('INTO @onqueue_first')),
      ...around(names, [hold], come, { keepPlaces: true }),
    ]);
    return due.length;
  },
});

/** How many may be in, as the first that is held says. */
function* firstLimits(names: MysqlNames, queue: string, lanes: readonly string[]): Work<ReadonlyMap<string, number>> {
  const firsts = lanes.map(
    (lane) =>
      sql`(SELECT lane, lane_limit ${ofLane(names, queue, lane)} AND lane_order > 0 ORDER BY lane_order LIMIT 1)`,
  );
  const rows = yield* rowsOf(firsts.reduce((some, first) => sql`${some} UNION ALL ${first}`));
  return new Map(rows.map(([lane, running]) => [String(lane), Number(running)]));
}
