/** The list of failed jobs, for `failed` and for `--dry-run`. */
import type { FailedJob } from '../application/failed/failed-job';
import { momentText } from './moments';
import type { Output } from './output';
import { type Cell, counted } from './table';

/** How many are listed by default. */
export const LISTED = 100;

/** @param isOfOneBatch whether all jobs are in one batch, so that the list need not name it */
export function listFailed(output: Output, jobs: readonly FailedJob[], isOfOneBatch: boolean): void {
  // Omits columns whose cells are all equal.
  const from = columnIf(new Set(jobs.map((job) => job.connection)).size > 1);
  const within = columnIf(!isOfOneBatch && jobs.some((job) => job.batch !== undefined));
  const behind = columnIf(jobs.some(({ chain }) => chain.length > 0));
  const optional = [...within('batch'), ...behind('followed by')];
  const headings = ['id', 'job', ...from('connection'), 'queue', 'attempts', 'failed at', ...optional, 'error'];
  const rows = jobs.map((job) => {
    const { id, name, queue, attempts, failedAt, exception, chain } = job;
    const waiting = chain.length === 0 ? undefined : counted(chain.length, 'job');
    const more = [...within(job.batch), ...behind(waiting)];
    return [id, name, ...from(job.connection), queue, attempts, momentText(failedAt), ...more, firstLine(exception)];
  });
  output.list(headings, rows);
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

const columnIf =
  (isShown: boolean) =>
  <Text extends Cell>(text: Text): Text[] =>
    isShown ? [text] : [];
