/**
 * The functions for jobs with unique keys, and debounced ones. The row of a job holds its key, by a unique index on keys
 * that are not NULL: whatever removes the row frees the key, even a process of an older version.
 *
 * A transaction that takes keys waits for any other that is just taking one of them, as its outcome is not known yet.
 * Therefore keys are taken in order, and only by pushes. Workers, which have other rows locked, wait for nobody.
 */
import { DELAYED, FENCE, COUNTERS, HELD_AT } from '../dialect';
import {
  availableAt,
  COUNTED,
  COUNTER_TYPES,
  entering,
  lanedColumns,
  NOW,
  oneByOne,
  PLANS,
  refuseTwins,
  rememberQueues,
  since,
  wake,
} from './functions';
import { literal, type Identifiers } from './names';

/**
 * Adds jobs as the function for other jobs does, except those whose keys are held; debounced jobs replace those that wait.
 * Returns a JSON, the same if it is called again: the held keys with the ids of their holders, and the indexes of debounced
 * jobs with the ids of the jobs that they replaced. Or the index of a job that is not unique: then none is added.
 *
 * p_keys: the unique keys of the jobs, each once.
 */
export function pushTiedFunction(names: Identifiers): string {
  const { jobs, queues, calls, places, pushTied, channel } = names;
  const laned = lanedColumns('place');
  return `CREATE OR REPLACE FUNCTION ${pushTied} (
  p_jobs json, p_debounced json, p_keys text[], p_queues text[], p_unique boolean, p_client text, p_call bigint, p_unheard bigint[],
  p_offset double precision, p_lanes json
) RETURNS text LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_now double precision := ${NOW};
  v_numbers regclass := pg_get_serial_sequence(${literal(jobs)}, 'id');
  v_job record;
  v_answer text;
  v_held text[];
  v_holders text[];
  v_ended bigint;
  v_taken text[] := '{}';
  v_again boolean := false;
  v_due double precision;
  v_until double precision;
  v_replaced text;
  v_numbers_replaced text[] := '{}';
  v_ids_replaced text[] := '{}';
  v_since bigint;
BEGIN
  IF p_client <> '' THEN
${oneByOne}
    SELECT held INTO v_answer FROM ${calls} WHERE client = p_client AND (call >= p_call OR call = ANY (p_unheard));
    IF FOUND THEN
      RETURN v_answer;
    END IF;
  END IF;
${refuseTwins(jobs)}
${since(names)}
  LOOP
    SELECT coalesce(array_agg(unique_key) FILTER (WHERE holds), '{}'), coalesce(array_agg(uuid) FILTER (WHERE holds), '{}'),
      count(*) FILTER (WHERE NOT holds) INTO v_held, v_holders, v_ended
    FROM (
      SELECT unique_key, uuid, coalesce(unique_until > v_now, true) AS holds FROM ${jobs}
      WHERE unique_key = ANY (p_keys) AND NOT unique_key = ANY (v_taken)
    ) AS found;
    IF v_ended > 0 THEN
      -- In the order of their ids, as workers lock jobs that they end.
      WITH ended AS MATERIALIZED (
        SELECT id FROM ${jobs} WHERE unique_key = ANY (p_keys) AND unique_until <= v_now ORDER BY id FOR UPDATE
      )
      UPDATE ${jobs} AS job SET unique_key = NULL FROM ended WHERE job.id = ended.id;
    END IF;
    WITH added AS (
      INSERT INTO ${jobs} (id, queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place,
        unique_key, unique_until, start_key, start_for, lane, lane_limit, lane_order)
      SELECT id, queue, payload, uuid, ${COUNTED}, ${laned.available}, floor(v_now)::integer,
        ${laned.due}, ${laned.place},
        key, v_now + most, CASE WHEN starts THEN key END, CASE WHEN starts THEN most END, lane, running, ${laned.order}
      FROM (
        -- Numbered in the order of the push, although they are inserted in the order of their keys.
        SELECT job.*, nextval(v_numbers) AS id, CASE WHEN delay > 0 THEN NULL ELSE nextval(${literal(places)}) END AS place
        FROM (
          SELECT queue, payload, uuid, ${COUNTERS}, coalesce(due - v_now, delay) AS delay, key, most, starts, lane, running
          FROM json_to_recordset(p_jobs) AS given (queue text, payload text, uuid text, delay double precision,
            due double precision, key text, most double precision, starts boolean, lane text, running integer, ${COUNTER_TYPES})
          WHERE CASE WHEN key IS NULL THEN NOT v_again ELSE NOT key = ANY (v_held || v_taken) END
        ) AS job
      ) AS numbered
      ORDER BY key
      ON CONFLICT DO NOTHING
      RETURNING unique_key
    )
    SELECT v_taken || coalesce(array_agg(unique_key) FILTER (WHERE unique_key IS NOT NULL), '{}') INTO v_taken FROM added;
    -- Otherwise another call took a key first, and we see its job now; or that job has ended since.
    EXIT WHEN cardinality(v_held) + cardinality(v_taken) = cardinality(p_keys);
    v_again := true;
  END LOOP;
${putOff(jobs, places)}
${entering(names)}
  v_answer := json_build_object('held', json_object(v_held, v_holders), 'replaced', json_object(v_numbers_replaced, v_ids_replaced));
  IF p_client <> '' THEN
    ${rememberQueues(queues, 'p_queues')}
    INSERT INTO ${calls} AS known (client, call, called_at, held) VALUES (p_client, p_call, floor(v_now)::integer, v_answer)
      ON CONFLICT (client) DO UPDATE SET call = excluded.call, called_at = excluded.called_at, answer = NULL, held = excluded.held;
  END IF;
  ${wake(channel, 'p_queues')}
  RETURN v_answer;
END $$;`;
}

/** The condition for a debounced job that was never handed out and is not due yet. */
const WAITS = `queue = v_job.queue AND ${DELAYED} AND ${FENCE} = 0 AND due_at > v_now AND due_at < ${HELD_AT}`;

/**
 * Adds debounced jobs one after another, those of a key in order: each removes the job that waits, and then waits under its
 * key. `start_key` makes a worker free the key when the job is handed out. A key that is still there after that is of no use
 * to anyone, and its row may be locked.
 */
const putOff = (jobs: string, places: string): string => `  FOR v_job IN
    SELECT * FROM (
      -- Numbered in the order of the push.
      SELECT nextval(v_numbers) AS id, nextval(${literal(places)}) AS place, n, queue, payload, uuid,
        coalesce(due - v_now, delay, 0) AS delay, key, longest, lane, running, ${COUNTERS}
      FROM json_to_recordset(p_debounced) AS given (n integer, queue text, payload text, uuid text, delay double precision,
        due double precision, key text, longest double precision, lane text, running integer, ${COUNTER_TYPES})
    ) AS numbered
    ORDER BY key, n
  LOOP
    LOOP
      DELETE FROM ${jobs} WHERE unique_key = v_job.key AND ${WAITS}
        RETURNING uuid, unique_until INTO v_replaced, v_until;
      IF FOUND THEN
        IF v_replaced <> v_job.uuid THEN
          v_numbers_replaced := v_numbers_replaced || v_job.n::text;
          v_ids_replaced := v_ids_replaced || v_replaced;
        END IF;
      ELSE
        -- A job pushed since the DELETE keeps the key.
        UPDATE ${jobs} SET unique_key = NULL WHERE unique_key = v_job.key AND (${WAITS}) IS NOT TRUE;
        v_until := v_now + v_job.longest;
      END IF;
      v_due := least(v_now + v_job.delay, v_until);
      INSERT INTO ${jobs} (id, queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place,
        unique_key, unique_until, start_key, lane, lane_limit, lane_order)
      SELECT v_job.id, v_job.queue, v_job.payload, v_job.uuid, ${COUNTERS.replaceAll(/\w+/g, 'coalesce(v_job.$&, 0)')},
        CASE WHEN v_due > v_now OR v_job.lane IS NULL THEN ${availableAt('(v_due - v_now)')} ELSE 2147483647 END, floor(v_now)::integer,
        CASE WHEN v_due > v_now THEN v_due WHEN v_job.lane IS NOT NULL THEN ${HELD_AT} END,
        CASE WHEN v_due > v_now OR v_job.lane IS NOT NULL THEN NULL ELSE v_job.place END,
        CASE WHEN v_due > v_now THEN v_job.key END, v_until, CASE WHEN v_due > v_now THEN '' END,
        v_job.lane, v_job.running, CASE WHEN v_due > v_now OR v_job.lane IS NULL THEN NULL ELSE v_job.place END
      ON CONFLICT DO NOTHING;
      -- Otherwise another call was faster, and we see its job now.
      EXIT WHEN FOUND;
    END LOOP;
  END LOOP;`;

/**
 * Gives jobs the keys back that they had left at their start, if nobody else has them. If several share one, the first gets
 * it.
 */
export function retakeFunction({ jobs, retake }: Identifiers): string {
  return `CREATE OR REPLACE FUNCTION ${retake} (p_ids bigint[], p_now double precision)
RETURNS void LANGUAGE plpgsql ${PLANS} SET lock_timeout = '1ms' AS $$
#variable_conflict use_column
DECLARE
  v_job record;
BEGIN
  FOR v_job IN SELECT min(id) AS id, start_key FROM ${jobs} WHERE id = ANY (p_ids) AND start_key <> '' GROUP BY start_key LOOP
    BEGIN
      UPDATE ${jobs} SET unique_key = NULL WHERE unique_key = v_job.start_key AND unique_until <= p_now;
      UPDATE ${jobs} SET unique_key = start_key, unique_until = p_now + start_for WHERE id = v_job.id;
    EXCEPTION WHEN unique_violation OR lock_not_available THEN
      -- Another job has the key, or is just taking it: if that is rolled back, the key stays free.
      NULL;
    END;
  END LOOP;
END $$;`;
}
