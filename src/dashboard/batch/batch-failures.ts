/** The failed jobs of a batch. */
import type { Batch } from '../../dispatch/batch/batch';
import { type ListedJob, listedFailure } from '../../operations/listed-job';
import { readTies } from '../../payload/ties';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { actionForm } from '../parts/action-form';
import { errorLine } from '../parts/excerpt';
import { jobLink, queueLink } from '../parts/links';
import { counted, numberText } from '../parts/number';
import { ACTIONS, numberColumn, table } from '../parts/table';
import { moment } from '../parts/time';
import type { PageContext } from '../view';

export interface FailedMember extends ListedJob {
  /** Jobs behind it in its chain, which were skipped. */
  readonly behind: number;
}

export interface BatchFailures {
  readonly jobs: readonly FailedMember[];
  /** How many failed jobs were examined, if there may be more of this batch. */
  readonly lookedAt: number | undefined;
}

/** How many are shown. */
const SHOWN = 20;
const PAGE = 100;
/** How many failed jobs are examined at most: their store does not know which batch they belong to. */
const MOST = 1000;

/** Undefined if no store keeps them. */
export async function failuresOf(
  { id, connection, failed }: Batch,
  { manager }: PageContext,
): Promise<BatchFailures | undefined> {
  const store = manager.failed.storeFor(manager.driver(connection));
  if (store === undefined) return undefined;
  const wanted = Math.min(failed, SHOWN);
  const jobs: FailedMember[] = [];
  let lookedAt = 0;
  let after: string | undefined;
  while (jobs.length < wanted && lookedAt < MOST) {
    const page = await store.list({ limit: PAGE, after });
    after = page.at(-1)?.place;
    lookedAt += page.length;
    for (const entry of page) {
      const tie = readTies(entry.payload)?.batch;
      if (tie?.id === id) jobs.push({ ...listedFailure(manager, entry), behind: tie.weight - 1 });
    }
    if (page.length < PAGE) return { jobs: jobs.slice(0, wanted), lookedAt: undefined };
  }
  return { jobs: jobs.slice(0, wanted), lookedAt: jobs.length < wanted ? lookedAt : undefined };
}

export function failedPart(batch: Batch, failures: BatchFailures | undefined, context: PageContext): Html | undefined {
  const { failed, id, connection } = batch;
  if (failed === 0 || failures === undefined) return undefined;
  const { jobs, lookedAt } = failures;
  const all = html`<a href="${address('failed', { connection, batch: id })}">All failed jobs of this batch</a>`;
  if (jobs.length === 0)
    return html`<h2>Failed jobs</h2><p class="empty">${
      lookedAt === undefined
        ? 'Its failed jobs were forgotten; only their number is kept.'
        : html`None of the newest ${numberText(lookedAt)} failed jobs belongs to this batch. ${all}`
    }</p>`;
  const some = jobs.length < failed && `${numberText(jobs.length)} of ${numberText(failed)}, `;
  const shown = table({
    caption: html`Failed jobs <span class="soft">${some}newest first</span>`,
    columns: ['Job', 'Error', 'Failed', numberColumn('Attempts'), ACTIONS],
    rows: jobs.map((job) => failedRow(job, context)),
  });
  return html`${shown}<p class="pages">${all}</p>`;
}

function failedRow(job: FailedMember, context: PageContext): Html {
  const { id = '', name, connection, queue, error, failedAt, attempts, behind } = job;
  const fields = { connection, queue, id };
  const skipped =
    behind > 0 && html`<br><span class="soft">with ${counted(behind, 'job')} of its chain behind it, skipped</span>`;
  return html`<tr data-key="${id}"><th scope="row">${jobLink(job)}<br><span class="soft">in ${queueLink(job)}</span>${skipped}</th>
<td class="excerpt"><span class="bad"><bdi>${errorLine(error ?? '')}</bdi></span></td><td>${failedAt && moment(failedAt, context.now)}</td><td class="number">${attempts}</td>
<td class="actions">${actionForm({ action: 'retry-job', label: 'Retry', fields, subject: name }, context)}</td></tr>`;
}
