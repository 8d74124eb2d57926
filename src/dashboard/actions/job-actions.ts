/** What can be done with a job, and with many failed jobs at once: with ticked ones, or with all that match. */
import type { QueueManager } from '../../application/queue-manager';
import { type Milliseconds, Silence, within } from '../../base/clock';
import { errorMessage, errorRecord, toError } from '../../base/exception-text';
import { redact } from '../../base/redact';
import type { CancelResult, RescheduleResult } from '../../connections/contract';
import { delayIn } from '../../job/duration';
import type { Viewer } from '../access/access';
import { address, listIn } from '../addresses';
import { formIncomplete } from '../errors';
import { html, type Html } from '../html';
import { choiceIn, choiceText, filterOf } from '../pages/failed';
import { counted } from '../parts/text';
import { readOr } from '../readings';
import { type Action, fieldOf, type Notice } from './action';

const jobIn = (form: URLSearchParams) => ({
  connection: fieldOf(form, 'connection'),
  id: fieldOf(form, 'id'),
  queue: form.get('queue') ?? undefined,
});

const which = (form: URLSearchParams, meaning: string): Html => {
  const { connection, id, queue } = jobIn(form);
  return html`<p><bdi class="mono">${id}</bdi>${queue !== undefined && html` in <bdi>${queue}</bdi>`} of <bdi>${connection}</bdi></p>
    <p>${meaning}</p>`;
};

const CANCELLED: Readonly<Record<CancelResult, string>> = {
  removed: 'is cancelled: it was waiting, and has been removed.',
  signalled: 'is running, and was told to stop.',
  marked: 'was not found: it will end as cancelled when a worker takes it.',
  unknown: 'is no longer waiting or running.',
};

export const JOB_ACTIONS: Readonly<Record<string, Action>> = {
  'cancel-job': {
    ask: (form) => ({
      title: 'Cancel this job?',
      text: which(form, 'If it waits, it is removed for good. If it runs, it is told to stop.'),
      button: 'Cancel the job',
    }),
    async run(form, { manager, viewer }) {
      const { connection, id, queue } = jobIn(form);
      const result = await manager.connection(connection).cancel(id, { queue, reason: reasonFor(viewer) });
      return { text: `The job ${id} ${CANCELLED[result]}` };
    },
  },
  /** Ticked jobs, whatever states they are in by now. */
  'cancel-jobs': {
    ask(form) {
      const ticked = tickedIn(form) ?? [];
      if (ticked.length === 0) return undefined;
      return {
        title: 'Cancel these jobs?',
        text: html`<p><strong>${counted(ticked.length, 'job')}</strong></p>
          <p>Those that wait are removed for good. Those that run are told to stop.</p>`,
        button: 'Cancel them',
      };
    },
    run: (form, { manager, viewer }) =>
      carriedOut(form, manager, {
        one: async ({ connection, id, queue }) =>
          (await manager.connection(connection).cancel(id, { queue, reason: reasonFor(viewer) })) !== 'unknown',
        told: (count) => `${counted(count, 'job is', 'jobs are')} cancelled, or told to stop.`,
      }),
  },
  'promote-jobs': {
    run: (form, { manager }) =>
      carriedOut(form, manager, {
        one: async ({ connection, id, queue }) =>
          (await manager.connection(connection).promote(id, { queue })) !== 'unknown',
        told: (count) => `${counted(count, 'job is', 'jobs are')} ready.`,
      }),
  },
  'promote-job': {
    async run(form, { manager }) {
      const { connection, id, queue } = jobIn(form);
      return { text: `The job ${id} ${MOVED[await manager.connection(connection).promote(id, { queue })]}` };
    },
  },
  'reschedule-job': {
    ask: (form) => ({
      title: 'Move this job?',
      text: which(form, 'It becomes ready at another moment, also if it waits for its next attempt.'),
      fields: html`<p>
        <label>When: a time from now, such as 30s or 2h, or a moment, such as 2027-03-27T12:00 (UTC)
          <input type="text" name="when" required maxlength="40" autocomplete="off" /></label>
      </p>`,
      button: 'Move the job',
    }),
    async run(form, { manager }) {
      const { connection, id, queue } = jobIn(form);
      const delay = delayIn(fieldOf(form, 'when'));
      return { text: `The job ${id} ${MOVED[await manager.connection(connection).reschedule(id, delay, { queue })]}` };
    },
  },
  'retry-job': { run: (form, { manager }) => retry(form, manager, false) },
  'restart-job': {
    ask: (form) => ({
      title: 'Retry this job from the start?',
      text: which(form, 'What it has kept of the steps that it has done is forgotten: it does them again.'),
      button: 'Retry it from the start',
    }),
    run: (form, { manager }) => retry(form, manager, true),
  },
  'forget-job': {
    ask: (form) => ({
      title: 'Forget this failed job?',
      text: which(form, 'It is removed with its data and its error, and can no longer be retried.'),
      button: 'Forget the job',
    }),
    async run(form, { manager }) {
      const { connection, id, queue } = jobIn(form);
      const isGone = await manager.failed.forget(id, { connection, queue });
      return { text: isGone ? `The job ${id} is forgotten.` : `The job ${id} is not among the failed jobs.` };
    },
  },
  'retry-failed': {
    async ask(form, { manager }) {
      // Ticked jobs were seen one by one; all that match may be a lot of work.
      if (tickedIn(form) !== undefined) return undefined;
      return {
        title: 'Retry these failed jobs?',
        text: html`${await allMeant(form, manager)}<p>They go back to their queues, with all their tries.</p>`,
        button: 'Retry them',
      };
    },
    run: (form, { manager }) =>
      carriedOut(form, manager, {
        one: ({ id, ...place }) => manager.failed.retry(id, place),
        all: () => manager.failed.retry(filterOf(choiceIn(form)) ?? 'all'),
        told: (count) =>
          `${counted(count, 'failed job goes back to its queue', 'failed jobs go back to their queues')}.`,
      }),
  },
  'forget-failed': {
    async ask(form, { manager }) {
      const ticked = tickedIn(form);
      if (ticked?.length === 0) return undefined;
      const meant =
        ticked === undefined
          ? await allMeant(form, manager)
          : html`<p><strong>${counted(ticked.length, 'failed job')}</strong></p>`;
      return {
        title: 'Forget these failed jobs?',
        text: html`${meant}<p>They are removed with their data and their errors, and cannot be retried any more.</p>`,
        button: 'Forget them',
      };
    },
    run: (form, { manager }) =>
      carriedOut(form, manager, {
        one: ({ id, ...place }) => manager.failed.forget(id, place),
        all: () => {
          const filter = filterOf(choiceIn(form));
          return filter === undefined ? manager.failed.flush() : manager.failed.forget(filter);
        },
        told: (count) => `${counted(count, 'failed job is', 'failed jobs are')} forgotten.`,
      }),
  },
};

const MOVED: Readonly<Record<RescheduleResult, string>> = {
  rescheduled: 'waits until the new moment.',
  ready: 'is ready: it runs when the jobs before it have been taken.',
  running: 'is running already.',
  unknown: 'is no longer delayed.',
};

async function retry(form: URLSearchParams, { failed }: QueueManager, fromStart: boolean): Promise<Notice> {
  const { connection, id, queue } = jobIn(form);
  if (!(await failed.retry(id, { connection, queue, fromStart })))
    return { text: `The job ${id} is not among the failed jobs.` };
  return {
    text: `The job ${id} goes back to its queue, with all its tries.`,
    link: { address: address('job', { connection, id, queue }), label: 'Show it' },
  };
}

/** A reason is one line of a log. */
function reasonFor({ name }: Viewer): string {
  return `on the dashboard${name === undefined ? '' : ` by ${name}`}`
    .toWellFormed()
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, 255);
}

/**
 * Until then the viewer waits for the action; afterwards it goes on in the background, because a proxy in between would give up.
 */
const PATIENCE: Milliseconds = 5000;
/** How long a question waits for the number of its jobs: counting reads all of them. */
const COUNTING: Milliseconds = 1000;

interface Place {
  readonly connection: string;
  readonly queue: string;
  readonly id: string;
}

interface Deed {
  readonly one: (place: Place) => Promise<boolean>;
  /** For all that match; returns the number of jobs. Absent: only for ticked ones. */
  readonly all?: () => Promise<number>;
  readonly told: (count: number) => string;
}

async function carriedOut(form: URLSearchParams, manager: QueueManager, deed: Deed): Promise<Notice> {
  const ticked = tickedIn(form);
  if (ticked?.length === 0) return { text: 'No job was ticked, so nothing was done.' };
  const { all } = deed;
  if (ticked === undefined && all === undefined) throw formIncomplete('job');
  const work = ticked === undefined ? all!().then((count) => ({ text: deed.told(count) })) : eachOf(ticked, deed);
  const notice = await unlessLate(PATIENCE, work, manager);
  if (notice !== undefined) return notice;
  tellLater(work, manager);
  return { text: 'This takes longer and goes on in the background. The log of the dashboard says when it is done.' };
}

/** Undefined if it takes longer; the work goes on. */
const unlessLate = <Value>(patience: Milliseconds, work: Promise<Value>, { clock }: QueueManager) =>
  readOr(
    () => within(clock, patience, work, false),
    undefined,
    (error) => error instanceof Silence,
  );

function tellLater(work: Promise<Notice>, { logger }: QueueManager): void {
  work.then(
    ({ text }) => logger.info({}, `Dashboard: ${text}`),
    (error: unknown) => logger.error({ err: errorRecord(toError(error)) }, `Dashboard: ${errorMessage(error)}`),
  );
}

/** A job that cannot be reached does not stop the others. */
async function eachOf(places: readonly Place[], { one, told }: Deed): Promise<Notice> {
  let [done, gone] = [0, 0];
  const refused: string[] = [];
  for (const place of places) {
    try {
      if (await one(place)) done += 1;
      else gone += 1;
    } catch (error) {
      refused.push(redact(errorMessage(error)));
    }
  }
  const [first] = refused;
  const rest = [
    gone > 0 && ` ${counted(gone, 'job was', 'jobs were')} already gone.`,
    first !== undefined && ` ${counted(refused.length, 'job')} could not be reached: ${first}`,
  ];
  return { text: `${told(done)}${rest.filter(Boolean).join('')}` };
}

/** Undefined if all that match are meant. */
function tickedIn(form: URLSearchParams): readonly Place[] | undefined {
  return form.get('all') === 'yes' ? undefined : form.getAll('job').flatMap((text) => placeIn(text) ?? []);
}

function placeIn(text: string): Place | undefined {
  const [connection, queue, id] = listIn(text);
  const isPlace = typeof connection === 'string' && typeof queue === 'string' && typeof id === 'string';
  return isPlace ? { connection, queue, id } : undefined;
}

async function allMeant(form: URLSearchParams, manager: QueueManager): Promise<Html> {
  const choice = choiceIn(form);
  const filter = filterOf(choice);
  const counting = filter === undefined ? manager.failed.kept() : manager.failed.count(filter);
  // If a store is unreachable, the action itself will say so.
  const count = await unlessLate(
    COUNTING,
    counting.catch(() => undefined),
    manager,
  );
  const which = choiceText(choice) || 'of all connections';
  return html`<p>
    <strong>${count === undefined ? 'All failed jobs' : counted(count, 'failed job')}</strong> <bdi>${which}</bdi>, including
    those that are not shown.
  </p>`;
}
