/**
 * Updates batches in the packet that pushes or ends their jobs; `changedBatch` and `callbackPayload` are the model. The
 * server does the arithmetic, not the process: a process that stalls or stops halfway would keep the batch's row locked for
 * everyone who ends its jobs.
 *
 * Batch rows are locked after the rows of jobs that end, before new jobs are inserted, and in the order of their ids. The
 * statements must come after one that sets `@onqueue_now`.
 */
import type { Ending } from '../dialect';
import { raw, sql, type Sql } from '../statement';
import { type Candidate, LATEST, MOST_PLACE, READY, keyOf, type MysqlNames } from './rows';

/** Without it, texts would be converted to the database's character set, and compared by its rules. */
const UTF8 = raw('CHARACTER SET utf8mb4');

/** In the order in which their jobs are sent. */
const EVENTS = raw("'catch', 'progress', 'then', 'finally', 'next'");

/** Sets `@onqueue_end` to the reason why a batch takes no more jobs, or to NULL if it does. */
export function findEnd({ batches }: MysqlNames, id: string): readonly Sql[] {
  return [
    raw("SET @onqueue_end = 'unknown'"),
    sql`SELECT CASE WHEN cancelled_at IS NOT NULL THEN 'cancelled' WHEN finished_at IS NOT NULL THEN 'finished' END
      INTO @onqueue_end FROM ${batches} WHERE id = ${keyOf(id)} FOR UPDATE`,
  ];
}

/**
 * Aborts a packet if `@onqueue_end` says that the batch takes no more jobs: nothing is written. The error is `isTwoRows`.
 */
export const REFUSE = raw(
  'SET @onqueue_refused = (SELECT 1 FROM (SELECT 1 UNION SELECT 2) AS two WHERE @onqueue_end IS NOT NULL)',
);

/** Counts pushed jobs as pending. @param candidates the condition of a job without a key is ignored */
export function join(names: MysqlNames, id: string, candidates: readonly Candidate[]): readonly Sql[] {
  let pending = sql`0`;
  for (const { job, condition } of candidates) {
    const weight = job.batch?.weight ?? 0;
    pending = job.tie === undefined ? sql`${pending} + ${weight}` : sql`${pending} + IF(${condition}, ${weight}, 0)`;
  }
  return [
    sql`UPDATE ${names.batches} SET open_until = @onqueue_now + open_for WHERE id = ${keyOf(id)} AND open_until IS NOT NULL`,
    sql`SET @onqueue_pending = ${pending}, @onqueue_completed = 0, @onqueue_failed = 0, @onqueue_skipped = 0, @onqueue_cause = NULL`,
    ...change(names, id),
  ];
}

/** Counts the endings whose ids are in `@onqueue_settled`. Leaves the queues that it sends jobs to in `@onqueue_sent_to`. */
export function leave(names: MysqlNames, endings: readonly Ending[]): readonly Sql[] {
  const ids = new Set(endings.flatMap(({ leaves }) => (leaves === undefined ? [] : [leaves.id])));
  const statements = [...ids]
    .toSorted()
    .flatMap((id) => [
      ...sumOf(endings, id),
      ...change(names, id),
      sql`SELECT CONCAT_WS(',', @onqueue_sent_to, GROUP_CONCAT(DISTINCT HEX(queue))) INTO @onqueue_sent_to ${dueIn(names, id)}`,
    ]);
  return statements.length === 0 ? [] : [raw('SET @onqueue_sent_to = NULL'), ...statements];
}

/** Sets variables to how the endings change the batch. */
function sumOf(endings: readonly Ending[], id: string): readonly Sql[] {
  const changes = endings.flatMap(({ id: job, leaves }) => {
    if (leaves?.id !== id) return [];
    const { cause, ...numbers } = leaves.change;
    return [{ job, ...numbers, ...(cause && { cause: Buffer.from(JSON.stringify(cause)).toString('hex') }) }];
  });
  const list = sql`JSON_TABLE(${JSON.stringify(changes)}, '$[*]' COLUMNS (
      n FOR ORDINALITY, job BIGINT PATH '$.job', pending BIGINT PATH '$.pending', completed BIGINT PATH '$.completed',
      failed BIGINT PATH '$.failed', skipped BIGINT PATH '$.skipped', cause LONGTEXT PATH '$.cause'
    )) AS list WHERE FIND_IN_SET(list.job, @onqueue_settled) > 0`;
  const sums = ['pending', 'completed', 'failed', 'skipped'].map((column) => raw(`COALESCE(SUM(${column}), 0)`));
  const statements = [
    sql`SELECT ${sums} INTO @onqueue_pending, @onqueue_completed, @onqueue_failed, @onqueue_skipped FROM ${list}`,
    raw('SET @onqueue_cause = NULL'),
  ];
  const isTold = changes.some(({ cause }) => cause !== undefined);
  const first = sql`SELECT UNHEX(cause) INTO @onqueue_cause FROM ${list} AND cause IS NOT NULL ORDER BY n LIMIT 1`;
  return isTold ? [...statements, first] : statements;
}

/**
 * Changes a batch by the numbers in the variables, and sends the callbacks that are due. A batch that was pruned sends
 * nothing.
 */
function change(names: MysqlNames, id: string): readonly Sql[] {
  const { batches, jobs, turns } = names;
  const key = keyOf(id);
  const unsent = (event: string, condition: string): string =>
    `IF(${condition} AND NOT FIND_IN_SET('${event}', @onqueue_sent), '${event}', NULL)`;
  const ended = 'completed + failed + skipped';
  const added = '@onqueue_completed + @onqueue_failed + @onqueue_skipped';
  const moment = sql`COALESCE(callback.due / 1000, IF(callback.delay > 0, @onqueue_now + callback.delay, NULL))`;
  const due = sql`GREATEST(LEAST(${moment}, ${LATEST}), 0)`;
  return [
    raw('SET @onqueue_ticks = FALSE, @onqueue_due = NULL'),
    sql`SELECT (${raw(`${ended} + ${added}`)}) DIV every_jobs * every_jobs,
        COALESCE((${raw(`${ended} + ${added}`)}) DIV every_jobs > (${raw(ended)}) DIV every_jobs, FALSE),
        pending + @onqueue_pending = 0 AND open_until IS NULL AND finished_at IS NULL,
        failed + @onqueue_failed, skipped + @onqueue_skipped, allows_failures,
        cancelled_at IS NOT NULL OR (@onqueue_failed > 0 AND NOT allows_failures), sent
      INTO @onqueue_number, @onqueue_ticks, @onqueue_ends, @onqueue_all_failed, @onqueue_all_skipped, @onqueue_allows,
        @onqueue_cancelled, @onqueue_sent
      FROM ${batches} WHERE id = ${key} FOR UPDATE`,
    raw(`SET @onqueue_due = CONCAT_WS(',',
      ${unsent('catch', '@onqueue_failed > 0')},
      ${unsent('then', '@onqueue_ends AND NOT @onqueue_cancelled AND @onqueue_all_failed + @onqueue_all_skipped = 0')},
      ${unsent('finally', '@onqueue_ends')},
      ${unsent('next', '@onqueue_ends AND NOT @onqueue_cancelled AND (@onqueue_all_failed + @onqueue_all_skipped = 0 OR @onqueue_allows)')})`),
    sql`UPDATE ${batches} SET pending = pending + @onqueue_pending, completed = completed + @onqueue_completed,
        failed = failed + @onqueue_failed, skipped = skipped + @onqueue_skipped,
        cancelled_at = IF(@onqueue_cancelled, COALESCE(cancelled_at, @onqueue_now), NULL),
        finished_at = IF(@onqueue_ends, @onqueue_now, finished_at),
        sent = TRIM(BOTH ',' FROM CONCAT(sent, ',', @onqueue_due))
      WHERE id = ${key}`,
    // The queues were remembered when the batch began. If two calls did so here, they could deadlock.
    sql`INSERT INTO ${jobs} (queue, payload, uuid, available_at, created_at, due_at, place)
      SELECT queue, CONCAT(head, cause, '"id":"', uuid, '","attempts":0}'), uuid,
        COALESCE(LEAST(CEIL(due), 4294967295), FLOOR(@onqueue_now)), FLOOR(@onqueue_now), due,
        IF(due IS NULL, n + (SELECT COALESCE(MAX(turn), 0) FROM ${jobs} AS line FORCE INDEX (${turns})
          WHERE line.queue = sending.queue COLLATE utf8mb4_bin AND state = ${READY} AND turn <= ${MOST_PLACE}), NULL)
      FROM (
        SELECT queue, head, ${due} AS due, ROW_NUMBER() OVER (ORDER BY FIELD(event, ${EVENTS}), place) AS n,
          IF(event = 'catch', COALESCE(CONCAT('"cause":', @onqueue_cause, ','), ''), '') AS cause,
          IF(event = 'progress', CONCAT(callback.id, '-', @onqueue_number), callback.id) AS uuid
        ${dueIn(names, id)}
      ) AS sending ORDER BY n`,
  ];
}

/** The callbacks that are due according to the variables. */
const dueIn = ({ batches }: MysqlNames, id: string): Sql =>
  sql`FROM ${batches} AS batch STRAIGHT_JOIN JSON_TABLE(batch.callbacks, '$[*]' COLUMNS (
      place FOR ORDINALITY, event VARCHAR(16) ${UTF8} PATH '$.on', queue VARCHAR(255) ${UTF8} PATH '$.queue',
      head LONGTEXT ${UTF8} PATH '$.head', id VARCHAR(255) ${UTF8} PATH '$.id', delay DECIMAL(16, 6) PATH '$.delay',
      due DECIMAL(20, 6) PATH '$.dueAt'
    )) AS callback
    WHERE batch.id = ${keyOf(id)} AND (FIND_IN_SET(event COLLATE utf8mb4_bin, @onqueue_due) OR (event = 'progress' AND @onqueue_ticks))`;
