/**
 * The functions for lanes. Jobs of a lane are pushed as held, and then let in, in one step.
 *
 * A lane is locked by an advisory lock: after the rows of jobs that end, before others, several lanes in the order of their names.
 * Due jobs come last in a call, which may have lanes locked by then: they wait for none, and stay due if theirs is locked.
 */
import { MOST_JOBS } from '../../../base/collections';
import { DELAYED, HELD_AT, MAY_BE_IN, type LaneStatements } from '../dialect';
import { raw, run, sql, valueOf } from '../statement';
import { PLANS } from './functions';
import { DUE, literal, type Identifiers } from './names';

/** For Laravel, which has four bytes for it. */
const NEVER = 2_147_483_647;

/** The key of a lane's lock. @param queue, lane as written in the statement */
const keyOf = ({ jobs }: Identifiers, queue: string, lane: string): string =>
  `hashtextextended(${literal(`${jobs} lane `)} || ${lane} || ' ' || ${queue}, 0)`;

/**
 * Lets in held jobs, as many as a call moves. Returns the queues into which some came.
 *
 * p_moves: the lanes as JSON, each once; `says`: `running` is how many may be in from now on. p_since: jobs held at this place or
 * behind it have been pushed by this call, and keep their places in line, unless others come in before them.
 */
export function letInFunction(names: Identifiers): string {
  const { jobs, lanes, letIn, places } = names;
  const ofLane = `FROM ${jobs} WHERE queue = v_move.queue AND lane = v_move.lane`;
  return `CREATE OR REPLACE FUNCTION ${letIn} (p_moves json, p_since bigint, p_now double precision)
RETURNS text[] LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_move record;
  v_most bigint;
  v_inside bigint;
  v_came integer;
  v_queues text[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock(${keyOf(names, 'queue', 'lane')})
  FROM (
    SELECT queue, lane FROM json_to_recordset(p_moves) AS given (queue text, lane text) ORDER BY queue COLLATE "C", lane COLLATE "C"
  ) AS moved;
  -- Only now, so that whatever others have done is seen.
  FOR v_move IN SELECT * FROM json_to_recordset(p_moves) AS given (queue text, lane text, running bigint, says boolean) LOOP
    SELECT ${MAY_BE_IN} INTO v_most FROM ${lanes} WHERE queue = v_move.queue AND lane = v_move.lane;
    IF v_move.says OR v_most IS NULL THEN
      INSERT INTO ${lanes} AS known (queue, lane, running) VALUES (v_move.queue, v_move.lane, coalesce(v_move.running,
        (SELECT lane_limit ${ofLane} AND lane_order > 0 ORDER BY lane_order LIMIT 1), 1))
        ON CONFLICT (queue, lane) DO UPDATE SET running = excluded.running WHERE known.running <> excluded.running;
      SELECT ${MAY_BE_IN} INTO v_most FROM ${lanes} WHERE queue = v_move.queue AND lane = v_move.lane;
    END IF;
    SELECT count(*) INTO v_inside ${ofLane} AND lane_order = 0;
    v_came := 0;
    IF v_most > v_inside THEN
      WITH head AS MATERIALIZED (
        SELECT id, lane_order ${ofLane} AND lane_order > 0
        ORDER BY lane_order LIMIT least(v_most - v_inside, ${MOST_JOBS}) FOR UPDATE
      ), placed AS MATERIALIZED (
        SELECT id, CASE WHEN min(lane_order) OVER () >= p_since THEN lane_order ELSE nextval(${literal(places)}) END AS next
        FROM (SELECT id, lane_order FROM head ORDER BY lane_order) AS ordered
      )
      UPDATE ${jobs} AS job SET place = next, due_at = NULL, available_at = floor(p_now)::integer, lane_order = 0
      FROM placed WHERE job.id = placed.id;
      GET DIAGNOSTICS v_came = ROW_COUNT;
    END IF;
    IF v_came > 0 THEN
      v_queues := v_queues || v_move.queue;
    ELSIF v_inside = 0 THEN
      DELETE FROM ${lanes} WHERE queue = v_move.queue AND lane = v_move.lane AND own_limit IS NULL AND NOT paused
        AND NOT EXISTS (SELECT ${ofLane} AND lane_order IS NOT NULL);
    END IF;
  END LOOP;
  RETURN v_queues;
END $$;`;
}

/** Due jobs of a queue enter their lanes, those of lanes that nobody has locked. */
export function enterFunction(names: Identifiers): string {
  const { enter, jobs, letIn, places } = names;
  return `CREATE OR REPLACE FUNCTION ${enter} (p_queue text, p_most integer, p_now double precision)
RETURNS integer LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_job record;
  v_since bigint := nextval(${literal(places)});
  v_lanes text[] := '{}';
  v_moves json[] := '{}';
  v_count integer := 0;
BEGIN
  FOR v_job IN
    SELECT id, lane, lane_limit FROM ${jobs}
    WHERE queue = p_queue AND ${DELAYED} AND ${DUE} <= p_now AND lane IS NOT NULL AND lane_order IS NULL
    ORDER BY ${DUE}, id LIMIT p_most FOR UPDATE SKIP LOCKED
  LOOP
    CONTINUE WHEN v_job.lane <> ALL (v_lanes) AND NOT pg_try_advisory_xact_lock(${keyOf(names, 'p_queue', 'v_job.lane')});
    UPDATE ${jobs} SET due_at = ${HELD_AT}, available_at = ${NEVER}, lane_order = nextval(${literal(places)}) WHERE id = v_job.id;
    v_count := v_count + 1;
    IF v_job.lane <> ALL (v_lanes) THEN
      v_lanes := v_lanes || v_job.lane;
      v_moves := v_moves || json_build_object('queue', p_queue, 'lane', v_job.lane, 'running', v_job.lane_limit, 'says', true);
    ELSE
      v_moves[array_position(v_lanes, v_job.lane)] :=
        json_build_object('queue', p_queue, 'lane', v_job.lane, 'running', v_job.lane_limit, 'says', true);
    END IF;
  END LOOP;
  IF v_count > 0 THEN
    PERFORM ${letIn}(array_to_json(v_moves), v_since, p_now);
  END IF;
  RETURN v_count;
END $$;`;
}

export const postgresLanes = (names: Identifiers): LaneStatements => ({
  lock: (queue, lane) =>
    run({ text: `SELECT pg_advisory_xact_lock(${keyOf(names, '?::text', '?::text')})`, values: [lane, queue] }),
  *letIn(queue, lanes) {
    const moves = JSON.stringify(lanes.map((lane) => ({ queue, lane })));
    const came = yield* valueOf(
      sql`SELECT cardinality(${raw(names.letIn)}(${moves}::text::json, NULL::bigint, ${names.now()}))`,
    );
    return Number(came);
  },
  // oxlint-disable-next-line require-yield -- the sequence knows the order
  *held() {
    return { due_at: HELD_AT, available_at: NEVER, place: null, lane_order: raw(`nextval(${literal(names.places)})`) };
  },
});
