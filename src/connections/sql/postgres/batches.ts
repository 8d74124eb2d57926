/**
 * The functions that update batches where their jobs are pushed and settled; `changedBatch` and `callbackPayload` are the
 * model.
 *
 * Batch rows are locked after the rows of jobs that end, before new jobs are inserted, and in the order of their ids, so
 * that calls do not deadlock.
 */
import { BATCH_KEPT } from '../../batch-store';
import { insertJobs, NOW, oneByOne, PLANS, wake } from './functions';
import type { Identifiers } from './names';

/** Finished batches that each new batch removes: more than one, so that they never pile up. */
const SWEPT = 10;

/**
 * Changes batches, and adds the jobs that are due because of it. Changes by several jobs to one batch are applied at once. A
 * batch that was pruned sends nothing. The queues were remembered when the batch began.
 *
 * p_changes: changes as JSON; `job` is the job whose end causes one. p_settled: the jobs whose ends were written.
 */
export function changeBatchesFunction(names: Identifiers): string {
  const { batches, changeBatches, channel } = names;
  return `CREATE OR REPLACE FUNCTION ${changeBatches} (p_changes json, p_settled bigint[], p_offset double precision)
RETURNS void LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_now double precision := ${NOW};
  v_change record;
  v_batch record;
  v_number bigint;
  v_events text[];
  v_jobs json[] := '{}';
  v_given json;
BEGIN
  FOR v_change IN
    SELECT batch, coalesce(sum(pending), 0)::bigint AS pending, coalesce(sum(completed), 0)::bigint AS completed,
      coalesce(sum(failed), 0)::bigint AS failed, coalesce(sum(skipped), 0)::bigint AS skipped,
      (array_agg(cause ORDER BY ordinality) FILTER (WHERE cause IS NOT NULL))[1] AS cause
    FROM ROWS FROM (
      json_to_recordset(p_changes) AS (job bigint, batch text, pending bigint, completed bigint, failed bigint, skipped bigint, cause text)
    ) WITH ORDINALITY
    WHERE job IS NULL OR job = ANY (p_settled)
    GROUP BY batch ORDER BY batch COLLATE "C"
  LOOP
    SELECT pending + v_change.pending AS pending, completed + v_change.completed AS completed,
      failed + v_change.failed AS failed, skipped + v_change.skipped AS skipped, completed + failed + skipped AS ended,
      allows_failures, every_jobs, open_until, cancelled_at, finished_at, string_to_array(sent, ',') AS sent
      INTO v_batch FROM ${batches} WHERE id = v_change.batch FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    v_events := '{}';
    IF v_change.failed > 0 THEN
      v_events := v_events || 'catch'::text;
      IF NOT v_batch.allows_failures THEN
        v_batch.cancelled_at := coalesce(v_batch.cancelled_at, v_now);
      END IF;
    END IF;
    v_number := (v_batch.completed + v_batch.failed + v_batch.skipped) / v_batch.every_jobs * v_batch.every_jobs;
    IF v_number > v_batch.ended THEN
      v_events := v_events || 'progress'::text;
    END IF;
    IF v_batch.pending = 0 AND v_batch.open_until IS NULL AND v_batch.finished_at IS NULL THEN
      v_batch.finished_at := v_now;
      IF v_batch.cancelled_at IS NULL AND v_batch.failed + v_batch.skipped = 0 THEN
        v_events := v_events || 'then'::text;
      END IF;
      v_events := v_events || 'finally'::text;
      IF v_batch.cancelled_at IS NULL AND (v_batch.failed + v_batch.skipped = 0 OR v_batch.allows_failures) THEN
        v_events := v_events || 'next'::text;
      END IF;
    END IF;
    v_events := ARRAY(SELECT event FROM unnest(v_events) AS event WHERE NOT event = ANY (v_batch.sent));
    UPDATE ${batches} SET pending = v_batch.pending, completed = v_batch.completed, failed = v_batch.failed,
      skipped = v_batch.skipped, cancelled_at = v_batch.cancelled_at, finished_at = v_batch.finished_at,
      sent = array_to_string(v_batch.sent || array_remove(v_events, 'progress'), ',')
    WHERE id = v_change.batch;
    IF cardinality(v_events) > 0 THEN
      v_jobs := v_jobs || ARRAY(
        SELECT json_build_object('queue', queue, 'uuid', uuid, 'delay', delay, 'due', "dueAt" / 1000, 'payload',
          head || CASE WHEN "on" = 'catch' THEN coalesce('"cause":' || v_change.cause || ',', '') ELSE '' END
          || '"id":"' || uuid || '","attempts":0}')
        FROM (
          SELECT given.*, id || CASE WHEN "on" = 'progress' THEN '-' || v_number ELSE '' END AS uuid
          FROM ROWS FROM (
            json_to_recordset((SELECT callbacks::json FROM ${batches} WHERE id = v_change.batch))
              AS ("on" text, queue text, head text, id text, delay double precision, "dueAt" double precision)
          ) WITH ORDINALITY AS given
          WHERE "on" = ANY (v_events)
        ) AS callback
        ORDER BY array_position(v_events, "on"), ordinality
      );
    END IF;
  END LOOP;
  IF cardinality(v_jobs) > 0 THEN
    v_given := array_to_json(v_jobs);
${insertJobs(names, 'v_given')}
    ${wake(channel, `ARRAY(SELECT DISTINCT job ->> 'queue' FROM unnest(v_jobs) AS job)`)}
  END IF;
END $$;`;
}

/**
 * Adds jobs of a batch as the function for other jobs does, and counts them as pending. Returns what the function for jobs
 * with unique keys returns; or, as a JSON text, why the batch takes no more jobs: then none is added. It raises no error,
 * which would abort a transaction of the user's.
 *
 * p_begins: the batch as JSON if it starts with this push; NULL if it must exist. p_weight: how many jobs of the batch those
 * without keys stand for, including their chains. p_weights: for each key the same for its job.
 */
export function pushBatchFunction(names: Identifiers): string {
  const { batches, calls, changeBatches, push, pushBatch, pushTied } = names;
  return `CREATE OR REPLACE FUNCTION ${pushBatch} (
  p_batch text, p_begins json, p_weight bigint, p_weights bigint[], p_jobs json, p_keys text[], p_queues text[], p_unique boolean,
  p_client text, p_call bigint, p_unheard bigint[], p_offset double precision, p_lanes json
) RETURNS text LANGUAGE plpgsql ${PLANS} AS $$
#variable_conflict use_column
DECLARE
  v_now double precision := ${NOW};
  v_batch record;
  v_answer text;
BEGIN
  IF p_client <> '' THEN
${oneByOne}
    SELECT coalesce(held, '{}') INTO v_answer FROM ${calls}
    WHERE client = p_client AND (call >= p_call OR call = ANY (p_unheard));
    IF FOUND THEN
      RETURN v_answer;
    END IF;
  END IF;
  IF p_begins IS NULL THEN
    SELECT cancelled_at, finished_at INTO v_batch FROM ${batches} WHERE id = p_batch FOR UPDATE;
    v_answer := CASE WHEN NOT FOUND THEN 'unknown' WHEN v_batch.cancelled_at IS NOT NULL THEN 'cancelled'
      WHEN v_batch.finished_at IS NOT NULL THEN 'finished' END;
    IF v_answer IS NOT NULL THEN
      RETURN to_json(v_answer);
    END IF;
  END IF;
  IF cardinality(p_keys) = 0 THEN
    v_answer := coalesce(${push}(NULL, NULL, p_jobs, p_queues, p_unique, p_client, p_call, p_unheard, p_offset, p_lanes)::text, '{}');
  ELSE
    v_answer := ${pushTied}(p_jobs, NULL, p_keys, p_queues, p_unique, p_client, p_call, p_unheard, p_offset, p_lanes);
  END IF;
  IF json_typeof(v_answer::json) = 'number' THEN
    RETURN v_answer;
  END IF;
  IF p_begins IS NULL THEN
    UPDATE ${batches} SET open_until = v_now + open_for WHERE id = p_batch AND open_until IS NOT NULL;
  ELSE
    DELETE FROM ${batches} WHERE id = ANY (p_batch || ARRAY(
      SELECT id FROM ${batches} WHERE finished_at < v_now - ${BATCH_KEPT} LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO ${batches} (id, name, allows_failures, created_at, open_until, open_for, every_jobs, callbacks)
    SELECT p_batch, name, "allowsFailures", v_now, v_now + "openFor", "openFor", every, callbacks
    FROM json_to_record(p_begins) AS begun (name text, "allowsFailures" boolean, "openFor" double precision, every bigint, callbacks text);
  END IF;
  PERFORM ${changeBatches}(json_build_array(json_build_object('batch', p_batch, 'pending', p_weight + (
    SELECT coalesce(sum(weight), 0) FROM unnest(p_keys, p_weights) AS asked (key, weight) WHERE v_answer::json -> 'held' -> key IS NULL
  ))), '{}', p_offset);
  RETURN v_answer;
END $$;`;
}
