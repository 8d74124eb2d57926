/**
 * The two functions of the hot path: each call is one round trip and one transaction. Jobs with unique keys are pushed by a
 * function of their own, in `keys.ts`, so that other jobs cost nothing more.
 *
 * They are planned without sequential scans, sorts, and joins that read a whole side. A plan made while a queue was short
 * would be kept when it is long, and read all of it for each job. Disabling a plan means giving it a huge cost, and that
 * cost must not start the JIT compiler. Without those plans a generic plan is as good as one for specific values, and is
 * made once per session.
 */
import { MOST_BYTES, MOST_JOBS } from '../../../base/collections';
import {
  countCrash,
  countTaken,
  DELAYED,
  FENCE,
  HELD_AT,
  KNOWN_ID,
  NO_ID,
  READY,
  RESERVED,
  UNHELD,
  UNREAD_ID,
  COUNTERS,
  MOST_COUNTED,
} from '../dialect';
import { literal, CANCELLING, DUE, PAUSED_UNTIL, type Identifiers } from './names';

/** Between the texts of a list. No JSON text contains this character. */
export const SEPARATOR = '\u001E';

const COMPARISON = { larger: 'greatest', smaller: 'least' };

export const PLANS = ['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin']
  .map((plan) => `SET enable_${plan} = off `)
  .join('')
  .concat('SET jit = off SET plan_cache_mode = force_generic_plan');

/**
 * Means `RESERVED`, but is written differently: otherwise the partial index with that condition would be used, and all
 * running jobs read, instead of the primary key.
 */
const RESERVED_THEN = 'num_nonnulls(reserved_at) = 1';

/** Counters that are 0 are not sent: reading a value of a job costs as much as storing it. */
export const COUNTED = COUNTERS.replaceAll(/\w+/g, 'coalesce($&, 0)');

export const COUNTER_TYPES = 'attempts bigint, crashes bigint, exceptions bigint, timeouts bigint, releases bigint';
export const NOW = 'extract(epoch FROM clock_timestamp())::double precision + p_offset';

/** For Laravel, whose columns are whole seconds in four bytes: never too early, and at once if there is no delay. */
export const availableAt = (delay: string): string =>
  `CASE WHEN ${delay} > 0 THEN least(ceil(v_now + ${delay}), 2147483647) ELSE floor(v_now) END::integer`;

/** Statements sent on a connection that we gave up may still be running, or arrive after later ones. */
export const oneByOne = '    PERFORM pg_advisory_xact_lock(hashtextextended(p_client, 0));';

/**
 * Adds jobs, and wakes those who wait for them. Returns the index of a job that is not unique: then none is added.
 *
 * p_payloads, p_ids: the texts of plain jobs of one queue, with `SEPARATOR` between them; to read them as JSON costs the server
 * four times as much. NULL: p_jobs has the jobs as JSON.
 * p_client '': within a transaction of the user's; neither the call nor the queues are recorded.
 */
export function pushFunction(names: Identifiers): string {
  const { jobs, queues, calls, push, channel } = names;
  return `CREATE OR REPLACE FUNCTION ${push} (
  p_payloads text, p_ids text, p_jobs json, p_queues text[], p_unique boolean,
  p_client text, p_call bigint, p_unheard bigint[], p_offset double precision, p_lanes json
) RETURNS integer LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_now double precision := ${NOW};
  v_job record;
  v_since bigint;
BEGIN
  IF p_client <> '' THEN
${oneByOne}
    IF EXISTS (SELECT FROM ${calls} WHERE client = p_client AND (call >= p_call OR call = ANY (p_unheard))) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF p_payloads IS NULL THEN
${refuseTwins(jobs)}
${since(names)}
${insertJobs(names, 'p_jobs')}
${entering(names)}
  ELSE
${insertPlain(names)}
  END IF;
  IF p_client <> '' THEN
    ${rememberQueues(queues, 'p_queues')}
    INSERT INTO ${calls} AS known (client, call, called_at) VALUES (p_client, p_call, floor(v_now)::integer)
      ON CONFLICT (client) DO UPDATE SET call = excluded.call, called_at = excluded.called_at, answer = NULL;
  END IF;
  ${wake(channel, 'p_queues')}
  RETURN NULL;
END $$;`;
}

/** Returns the index of a job with the same text as one that is delayed. */
export function refuseTwins(jobs: string): string {
  // OFFSET 0 keeps the planner from using the index of delayed jobs, and so from reading all of them.
  const ofText = (condition: string): string =>
    `EXISTS (SELECT FROM (SELECT * FROM ${jobs} WHERE ${condition} OFFSET 0) AS alike
        WHERE queue = v_job.queue AND ${DELAYED} AND payload = v_job.payload)`;
  return `  IF p_unique THEN
    FOR v_job IN
      SELECT * FROM json_to_recordset(p_jobs) AS job (n integer, queue text, payload text, uuid text, "unique" boolean) WHERE "unique"
    LOOP
      PERFORM pg_advisory_xact_lock(hashtextextended(v_job.queue || v_job.payload, 0));
      -- One by one: there is an index for each condition, but none for all of them.
      IF ${ofText(`uuid = v_job.uuid AND ${KNOWN_ID}`)} OR ${ofText(UNREAD_ID)} OR
        ${ofText(`${NO_ID} AND queue = v_job.queue AND hashtext(payload) = hashtext(v_job.payload)`)} THEN
        RETURN v_job.n;
      END IF;
    END LOOP;
  END IF;`;
}

/** For jobs with lanes: draws the place in line before theirs. */
export const since = ({ places }: Identifiers): string => `  IF p_lanes IS NOT NULL THEN
    v_since := nextval(${literal(places)});
  END IF;`;

/** After jobs were added: lets in those for which their lanes have room. */
export const entering = ({ letIn }: Identifiers): string => `  IF p_lanes IS NOT NULL THEN
    PERFORM ${letIn}(p_lanes, v_since, v_now);
  END IF;`;

/** The columns that a job with a lane has more, and those that are different, if it is not delayed. It is held at first. */
export function lanedColumns(place: string) {
  return {
    due: `CASE WHEN delay > 0 THEN v_now + delay WHEN lane IS NOT NULL THEN ${HELD_AT} END`,
    available: `CASE WHEN delay > 0 OR lane IS NULL THEN ${availableAt('delay')} ELSE 2147483647 END`,
    place: `CASE WHEN delay > 0 OR lane IS NOT NULL THEN NULL ELSE ${place} END`,
    order: `CASE WHEN delay > 0 OR lane IS NULL THEN NULL ELSE ${place} END`,
  };
}

/** @param given jobs as JSON. @param settled the jobs that were settled; then only their followers are added */
export function insertJobs({ jobs, places }: Identifiers, given: string, settled?: string): string {
  const [after, ofThese] = settled === undefined ? ['', ''] : ['after bigint, ', ` WHERE after = ANY (${settled})`];
  const { due, available, place, order } = lanedColumns(`nextval(${literal(places)})`);
  return `  INSERT INTO ${jobs} (queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place, lane, lane_limit, lane_order)
  SELECT queue, payload, uuid, ${COUNTED}, ${available}, floor(v_now)::integer,
    ${due},
    ${place}, lane, running, ${order}
  FROM (
    SELECT queue, payload, uuid, ${COUNTERS}, coalesce(due - v_now, delay) AS delay, lane, running
    FROM json_to_recordset(${given}) AS given (queue text, payload text, uuid text, delay double precision, due double precision,
      lane text, running integer, ${after}${COUNTER_TYPES})${ofThese}
  ) AS job;`;
}

/** Texts in the select list go through no table of their own, as those in FROM would. An empty list of ids is one empty id. */
function insertPlain({ jobs, places }: Identifiers): string {
  const texts = (list: string): string => `unnest(string_to_array(${list}, chr(${SEPARATOR.charCodeAt(0)})))`;
  return `  INSERT INTO ${jobs} (queue, payload, uuid, attempts, available_at, created_at, place)
  SELECT p_queues[1], payload, coalesce(uuid, ''), 0, floor(v_now)::integer, floor(v_now)::integer, nextval(${literal(places)})
  FROM (SELECT ${texts('p_payloads')} AS payload, ${texts('p_ids')} AS uuid) AS job;`;
}

export const rememberQueues = (queues: string, given: string): string =>
  `INSERT INTO ${queues} (name) SELECT unnest(${given}) ON CONFLICT DO NOTHING;`;

export const wake = (channel: string, queues: string): string =>
  `PERFORM pg_notify(${literal(channel)}, woken) FROM unnest(${queues}) AS woken;`;

/**
 * Ends reservations, then hands out jobs. Either part may be left out: with empty lists, or with NULL for p_queues.
 *
 * Returns a text for each job, and finally a JSON with everything else. Separate columns would take a third of the time of a
 * one-job call, as each column is described, planned and read separately.
 */
export function exchangeFunction(names: Identifiers): string {
  return `CREATE OR REPLACE FUNCTION ${names.exchange} (
  p_removed bigint[], p_fences bigint[], p_released json, p_failed json, p_next json, p_batches json,
  p_queues text[], p_limit integer, p_lease double precision,
  p_client text, p_call bigint, p_unheard bigint[], p_offset double precision, p_lanes json
) RETURNS SETOF text LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_now double precision := ${NOW};
  v_holder text := p_client || ':' || p_call;
  v_settled bigint[] := '{}';
  v_before integer := 0;
  v_woken text[] := '{}';
  v_queue text;
  v_job record;
  v_ids bigint[];
  v_back bigint[];
  v_last text;
  v_place bigint;
  v_head bigint;
  v_moved integer;
  v_reclaims integer := ${MOST_JOBS};
  v_promotes integer := ${MOST_JOBS};
  v_left integer := least(p_limit, ${MOST_JOBS});
  v_bytes bigint := ${MOST_BYTES};
  v_at double precision;
  v_next double precision;
  v_resumes double precision;
  v_paused text[];
  v_limited text[];
  v_amounts bigint[];
  v_room bigint;
  v_full text[] := '{}';
  v_restart text;
  v_cancelling boolean;
  v_since bigint;
  v_moves json;
  v_stuck text[];
BEGIN
${oneByOne}
  IF EXISTS (SELECT FROM ${names.calls} WHERE client = p_client AND call >= p_call) THEN
    RETURN;
  END IF;
${settling(names)}
${reserving(names)}
  RETURN NEXT json_build_object('settled', v_settled, 'next', nullif(v_next, 'Infinity'), 'paused', v_paused, 'restart', v_restart,
    'cancelling', nullif(v_cancelling, false), 'stuck', v_stuck, 'now', v_now);
END $$;`;
}

function settling(names: Identifiers): string {
  const { jobs, failed, queues, calls, places, channel, letIn } = names;
  return `  IF cardinality(p_unheard) > 0 THEN
    SELECT coalesce(max(answer), '{}') INTO v_settled FROM ${calls} WHERE client = p_client AND call = ANY (p_unheard);
    v_before := cardinality(v_settled);
    WITH back AS (
      UPDATE ${jobs} SET ${UNHELD}, attempts = greatest(attempts - 1, 0), releases = releases + 1
      WHERE ${RESERVED} AND holder IN (SELECT p_client || ':' || unheard FROM unnest(p_unheard) AS unheard)
      RETURNING id, start_key
    )
    SELECT array_agg(id) INTO v_back FROM back WHERE start_key IS NOT NULL;
    ${retakeKeys(names)}
  END IF;
  IF p_released IS NOT NULL OR p_failed IS NOT NULL THEN
    -- In the order of their ids, as a renewal locks them: in another order the two could deadlock.
    v_ids := p_removed
      || ARRAY(SELECT (ending ->> 'id')::bigint FROM json_array_elements(p_released) AS ending)
      || ARRAY(SELECT (ending ->> 'id')::bigint FROM json_array_elements(p_failed) AS ending);
    PERFORM FROM ${jobs} WHERE id = ANY (v_ids) ORDER BY id FOR UPDATE;
  END IF;
  IF cardinality(p_removed) > 0 THEN
    WITH gone AS (
      DELETE FROM ${jobs} WHERE id = ANY (p_removed) AND ${RESERVED_THEN} AND ${FENCE} = p_fences[array_position(p_removed, id)]
      RETURNING id
    )
    SELECT v_settled || coalesce(array_agg(id), '{}') INTO v_settled FROM gone;
  END IF;
  IF p_released IS NOT NULL THEN
    FOR v_job IN
      SELECT id, fence, ${COUNTERS}, coalesce(due - v_now, delay) AS delay, front, retakes
      FROM json_to_recordset(p_released) AS job (id bigint, fence bigint, delay double precision, due double precision,
        front boolean, retakes boolean, ${COUNTER_TYPES})
    LOOP
      UPDATE ${jobs} SET ${UNHELD}, attempts = v_job.attempts, crashes = v_job.crashes,
        exceptions = v_job.exceptions, timeouts = v_job.timeouts, releases = v_job.releases,
        available_at = ${availableAt('v_job.delay')},
        due_at = CASE WHEN v_job.delay > 0 THEN v_now + v_job.delay END,
        place = CASE WHEN v_job.front THEN place WHEN v_job.delay > 0 THEN NULL ELSE nextval(${literal(places)}) END,
        -- In an ordered lane a delayed job keeps its place.
        lane_order = CASE WHEN v_job.delay > 0 AND lane_limit > 0 THEN NULL ELSE lane_order END
      WHERE id = v_job.id AND ${RESERVED_THEN} AND ${FENCE} = v_job.fence
      RETURNING queue INTO v_queue;
      IF FOUND THEN
        v_settled := v_settled || v_job.id;
        v_woken := v_woken || v_queue;
        IF v_job.retakes THEN
          v_back := v_back || v_job.id;
        END IF;
      END IF;
    END LOOP;
    ${retakeKeys(names)}
    ${wake(channel, 'v_woken')}
  END IF;
  IF p_failed IS NOT NULL THEN
    FOR v_job IN
      SELECT * FROM json_to_recordset(p_failed) AS job (id bigint, fence bigint, uuid text, connection text, queue text,
        payload text, raw text, exception text, name text, attempts bigint, own text)
    LOOP
      DELETE FROM ${jobs} WHERE id = v_job.id AND ${RESERVED_THEN} AND ${FENCE} = v_job.fence;
      IF FOUND THEN
        v_settled := v_settled || v_job.id;
        -- Under a new id if there is one with this id.
        ${insertFailed(failed)} ON CONFLICT (uuid) DO NOTHING;
        IF NOT FOUND THEN
          v_job.uuid := v_job.own;
          ${insertFailed(failed)};
        END IF;
      END IF;
    END LOOP;
  END IF;
  IF p_batches IS NOT NULL THEN
    PERFORM ${names.changeBatches}(p_batches, v_settled[v_before + 1:], p_offset);
  END IF;
  IF p_next IS NOT NULL THEN
    -- The unanswered call that settled the others has already pushed their followers.
    v_ids := v_settled[v_before + 1:];
${since(names)}
${insertJobs(names, 'p_next', 'v_ids')}
    -- Sorted, so that calls that remember several new names do not deadlock.
    SELECT coalesce(array_agg(DISTINCT queue COLLATE "C"), '{}') INTO v_woken
    FROM json_to_recordset(p_next) AS given (queue text, after bigint) WHERE after = ANY (v_ids);
    ${rememberQueues(queues, 'v_woken')}
    ${wake(channel, 'v_woken')}
  END IF;
  IF p_lanes IS NOT NULL THEN
    -- Of jobs that have left or follow, the last that follows says how many may be in.
    SELECT json_agg(json_build_object('queue', queue, 'lane', lane, 'running', running, 'says', says)) INTO v_moves
    FROM (
      SELECT queue, lane, (array_agg(running ORDER BY says, ordinality))[count(*)] AS running, bool_or(says) AS says
      FROM ROWS FROM (json_to_recordset(p_lanes) AS (job bigint, queue text, lane text, running bigint, says boolean)) WITH ORDINALITY
      WHERE job = ANY (v_settled) GROUP BY queue, lane
    ) AS moved;
    IF v_moves IS NOT NULL THEN
      v_woken := ${letIn}(v_moves, v_since, v_now);
      IF p_queues IS NULL OR NOT v_woken <@ p_queues OR cardinality(v_woken) > p_limit THEN
        ${wake(channel, 'v_woken')}
      END IF;
    END IF;
  END IF;
  IF cardinality(p_removed) > 0 OR p_released IS NOT NULL OR p_failed IS NOT NULL OR cardinality(p_unheard) > 0 THEN
    INSERT INTO ${calls} AS known (client, call, called_at, answer) VALUES (p_client, p_call, floor(v_now)::integer, v_settled)
      ON CONFLICT (client) DO UPDATE SET call = excluded.call, called_at = excluded.called_at, answer = excluded.answer;
  END IF;`;
}

/** For the jobs in `v_back`, which were not started after all. */
const retakeKeys = ({ retake }: Identifiers): string =>
  `IF v_back IS NOT NULL THEN PERFORM ${retake}(v_back, v_now); END IF;`;

const insertFailed = (failed: string): string =>
  `INSERT INTO ${failed} (uuid, connection, queue, payload, raw, exception, failed_at, failed_ms, name, attempts)
      SELECT v_job.uuid, v_job.connection, v_job.queue, v_job.payload, decode(v_job.raw, 'base64'), v_job.exception,
        to_timestamp(v_now) AT TIME ZONE 'UTC', round(v_now * 1000), v_job.name, v_job.attempts`;

function reserving(names: Identifiers): string {
  const { batches, jobs, orders } = names;
  return `  IF p_queues IS NOT NULL THEN
    SELECT array_agg(value) FILTER (WHERE kind = 'pause' AND value = ANY (p_queues)),
      min(ends_at) FILTER (WHERE kind = 'pause' AND value = ANY (p_queues)), max(value) FILTER (WHERE kind = 'restart'),
      EXISTS (SELECT FROM ${batches} WHERE ${CANCELLING}),
      array_agg(value ORDER BY value) FILTER (WHERE kind = 'running' AND value = ANY (p_queues)),
      array_agg(amount ORDER BY value) FILTER (WHERE kind = 'running' AND value = ANY (p_queues))
      INTO v_paused, v_resumes, v_restart, v_cancelling, v_limited, v_amounts FROM ${orders} WHERE ${PAUSED_UNTIL} > v_now;
    IF v_limited IS NOT NULL THEN
      -- Others that take jobs of these queues wait, and then count those taken here. Sorted, so that two calls do not deadlock.
      PERFORM pg_advisory_xact_lock(hashtextextended(${literal(`${names.jobs} `)} || limited, 0)) FROM unnest(v_limited) AS limited;
    END IF;
    FOREACH v_queue IN ARRAY p_queues LOOP
${moving(names)}
      CONTINUE WHEN v_left <= 0 OR v_bytes <= 0 OR v_queue = ANY (v_paused);
      v_room := NULL;
      IF v_queue = ANY (v_limited) THEN
        SELECT v_amounts[array_position(v_limited, v_queue)] - count(*) INTO v_room FROM ${jobs} WHERE queue = v_queue AND ${RESERVED};
        IF v_room <= 0 THEN
          v_full := v_full || v_queue;
          CONTINUE;
        END IF;
      END IF;
${taking(jobs)}
    END LOOP;
    v_next := coalesce(v_resumes - v_now, 'Infinity');
    FOREACH v_queue IN ARRAY p_queues LOOP
      CONTINUE WHEN v_queue = ANY (v_paused);
      -- First after the last job that was taken: those before it stay in the index until the next vacuum.
      IF v_queue <> ALL (v_full) AND ((v_queue = v_last AND EXISTS (SELECT FROM ${jobs} WHERE queue = v_queue AND ${READY} AND place > v_place))
        OR EXISTS (SELECT FROM ${jobs} WHERE queue = v_queue AND ${READY}))
      THEN
        v_next := 0;
        EXIT;
      END IF;
      SELECT min(at) INTO v_at FROM (
        (SELECT ${DUE} AS at FROM ${jobs} WHERE queue = v_queue AND ${DELAYED} ORDER BY ${DUE} LIMIT 1)
        UNION ALL (SELECT lease_until FROM ${jobs} WHERE queue = v_queue AND ${RESERVED} ORDER BY lease_until LIMIT 1)
      ) AS moments;
      IF v_at >= ${HELD_AT} THEN
        v_stuck := v_stuck || v_queue;
        v_at := NULL;
      END IF;
      v_next := least(v_next, greatest(coalesce(v_at, 'Infinity') - v_now, 0));
    END LOOP;
  END IF;`;
}

/**
 * Moves jobs with ended leases to the head, ordered by the end of the lease, and due jobs to the tail, ordered by due time.
 */
function moving(names: Identifiers): string {
  const { jobs, places, enter } = names;
  return `      IF v_reclaims > 0 AND EXISTS (SELECT FROM ${jobs} WHERE queue = v_queue AND ${RESERVED} AND lease_until <= v_now) THEN
        SELECT place INTO v_head FROM ${jobs} WHERE queue = v_queue AND ${READY} AND place > -${MOST_COUNTED} ORDER BY place LIMIT 1;
        WITH ended AS MATERIALIZED (
          SELECT id, lease_until, place FROM ${jobs} WHERE queue = v_queue AND ${RESERVED} AND lease_until <= v_now
          ORDER BY lease_until LIMIT v_reclaims FOR UPDATE SKIP LOCKED
        ), numbered AS (SELECT id, row_number() OVER (ORDER BY lease_until, place, id) AS n FROM ended), moved AS (
          UPDATE ${jobs} AS job SET place = coalesce(v_head, 1) - 1 - v_reclaims + n, ${UNHELD},
            ${countCrash(COMPARISON)}
          FROM numbered WHERE job.id = numbered.id
          RETURNING job.id, start_key
        )
        SELECT count(*), array_agg(id) FILTER (WHERE start_key IS NOT NULL) INTO v_moved, v_back FROM moved;
        ${retakeKeys(names)}
        v_reclaims := v_reclaims - v_moved;
      END IF;
      IF v_promotes > 0 AND EXISTS (SELECT FROM ${jobs} WHERE queue = v_queue AND ${DELAYED} AND ${DUE} <= v_now) THEN
        WITH due AS MATERIALIZED (
          SELECT id, ${DUE} AS at FROM ${jobs} WHERE queue = v_queue AND ${DELAYED} AND ${DUE} <= v_now
            AND (lane IS NULL OR lane_order = 0)
          ORDER BY ${DUE}, id LIMIT v_promotes FOR UPDATE SKIP LOCKED
        ), placed AS MATERIALIZED (
          SELECT id, nextval(${literal(places)}) AS next FROM (SELECT id FROM due ORDER BY at, id) AS ordered
        )
        UPDATE ${jobs} AS job SET place = next FROM placed WHERE job.id = placed.id;
        GET DIAGNOSTICS v_moved = ROW_COUNT;
        v_promotes := v_promotes - v_moved;
        IF v_promotes > 0 AND EXISTS (SELECT FROM ${jobs} WHERE queue = v_queue AND ${DELAYED} AND ${DUE} <= v_now AND lane IS NOT NULL) THEN
          v_promotes := v_promotes - ${enter}(v_queue, v_promotes, v_now);
        END IF;
      END IF;`;
}

/** Takes the first jobs in line. The first job of a call may be of any length. */
function taking(jobs: string): string {
  return `      v_ids := '{}';
      FOR v_job IN
        SELECT id, place, octet_length(payload) AS size FROM ${jobs} WHERE queue = v_queue AND ${READY}
        ORDER BY place LIMIT least(v_left, v_room) FOR UPDATE SKIP LOCKED
      LOOP
        EXIT WHEN v_job.size > v_bytes AND v_last IS NOT NULL;
        v_ids := v_ids || v_job.id;
        v_last := v_queue;
        v_place := v_job.place;
        v_left := v_left - 1;
        v_bytes := v_bytes - v_job.size;
      END LOOP;
      CONTINUE WHEN v_last IS DISTINCT FROM v_queue;
      IF v_room <= cardinality(v_ids) THEN
        v_full := v_full || v_queue;
      END IF;
      RETURN QUERY
        WITH taken AS (
          UPDATE ${jobs} SET reserved_at = floor(v_now)::integer, lease_until = v_now + p_lease, holder = v_holder,
            ${countTaken(COMPARISON)}, unique_key = CASE WHEN start_key IS NULL THEN unique_key END
          WHERE id = ANY (v_ids)
          RETURNING place, id, concat_ws(' ', id, ${COUNTERS}, cancelled, array_position(p_queues, v_queue), payload) AS job
        )
        SELECT job FROM taken ORDER BY place, id;`;
}
