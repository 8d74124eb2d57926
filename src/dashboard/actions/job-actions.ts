/** What can be done with one job. */
import type { CancelResult } from '../../connections/contract';
import { address } from '../addresses';
import { html, type Html } from '../html';
import type { Action } from './actions';
import { fieldOf } from './form-fields';

const jobIn = (form: URLSearchParams) => ({
  connection: fieldOf(form, 'connection'),
  id: fieldOf(form, 'id'),
  queue: form.get('queue') ?? undefined,
});

const CANCELLED: Readonly<Record<CancelResult, string>> = {
  removed: 'is cancelled: it was waiting, and has been removed.',
  signalled: 'is running, and was told to stop.',
  marked: 'was not found: it will end as cancelled when a worker takes it.',
  unknown: 'is no longer waiting or running.',
};

export const cancelJob: Action = {
  async ask(form) {
    return {
      title: 'Cancel this job?',
      text: which(form, 'If it waits, it is removed for good. If it runs, it is told to stop.'),
      button: 'Cancel the job',
    };
  },
  async run(form, { manager, viewer }) {
    const { connection, id, queue } = jobIn(form);
    const reason = reasonOf(`on the dashboard${viewer.name === undefined ? '' : ` by ${viewer.name}`}`);
    const result = await manager.connection(connection).cancel(id, { queue, reason });
    return { text: `The job ${id} ${CANCELLED[result]}` };
  },
};

export const retryJob: Action = {
  async run(form, { manager }) {
    const { connection, id, queue } = jobIn(form);
    if (!(await manager.failed.retry(id, { connection, queue })))
      return { text: `The job ${id} is not among the failed jobs.` };
    return {
      text: `The job ${id} goes back to its queue, with all its tries.`,
      link: { address: address('job', { connection, id, queue }), label: 'Show it' },
    };
  },
};

export const forgetJob: Action = {
  async ask(form) {
    return {
      title: 'Forget this failed job?',
      text: which(form, 'It is removed with its data and its error, and can no longer be retried.'),
      button: 'Forget the job',
    };
  },
  async run(form, { manager }) {
    const { connection, id, queue } = jobIn(form);
    const isGone = await manager.failed.forget(id, { connection, queue });
    return { text: isGone ? `The job ${id} is forgotten.` : `The job ${id} is not among the failed jobs.` };
  },
};

function which(form: URLSearchParams, meaning: string): Html {
  const { connection, id, queue } = jobIn(form);
  return html`<p>
      <bdi class="mono">${id}</bdi>${queue !== undefined && html` in <bdi>${queue}</bdi>`} of <bdi>${connection}</bdi>
    </p>
    <p>${meaning}</p>`;
}

/** A reason is one line of a log. */
function reasonOf(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, 255);
}
