/** The state of a job and what can be done about it, in a sentence each, with buttons and its facts. */
import { spanText } from '../../base/span';
import type { QueueManager } from '../../application/queue-manager';
import type { Milliseconds } from '../../base/clock';
import { shellWord } from '../../base/text';
import type { LogLine } from '../../operations/history/lines';
import { redact } from '../../base/redact';
import type { FoundStep } from '../../operations/checkpoints';
import type { FoundJob } from '../../operations/found-job';
import { completedKept } from '../../operations/history/attempt';
import { isSilent } from '../../operations/worker-record';
import { address } from '../addresses';
import { html, type Html, type Shown } from '../html';
import { jobButtons } from '../parts/job-table';
import { actionForm, classLink, jobLink, queueLink } from '../parts/links';
import { ACTIONS, factList, idFact, numberColumn, table } from '../parts/table';
import { errorLine, moment } from '../parts/text';
import type { PageContext } from '../view';
import type { JobStory, ShownFailure } from './story';

export const toneOf = (state: ShownState): string | undefined =>
  ({ failed: 'bad', running: 'accent', completed: 'good' })[state as string];

export function statePart(story: JobStory, context: PageContext): Html {
  const state = stateOf(story);
  return html`<p class="state">
      <span class="badge ${toneOf(state) ?? ''}">${state}</span> ${stateText(story, context)}
    </p>
    ${progressOf(story, context)}
    <div class="advice">${ADVICE[state](story, context)}</div>
    ${buttons(story, context)}${facts(story, context)}${otherFailures(story, context)}`;
}

function progressOf({ job: { progress, state } }: JobStory, { now }: PageContext): Html | undefined {
  if (progress === undefined || state === 'completed') return undefined;
  const { value, text, at } = progress;
  return html`<p class="progress">
    <progress max="1" value="${value}" aria-label="Progress">${Math.floor(value * 100)} %</progress> ${Math.floor(value * 100)} %
    ${text !== undefined && html`<bdi>${text}</bdi>`} <span class="soft">${moment(at, now)}</span>
  </p>`;
}

/** The steps that it has done, with ticks. Undefined if it keeps none. */
export function stepsPart({ steps }: FoundJob, { now }: PageContext): Html | undefined {
  if (steps === undefined) return undefined;
  const row = ({ name, at, ms }: FoundStep): Html => html`<tr data-key="${name}">
    <th scope="row"><span class="good">✓</span> <bdi>${name}</bdi></th>
    <td>${moment(at, now)}</td>
    <td class="number">${spanText(ms)}</td>
  </tr>`;
  const columns = ['Step', 'Done', numberColumn('Took')];
  return html`<h2>Steps</h2>${table({ caption: 'Steps that it has done', isCaptionUnseen: true, columns, rows: steps.map(row) })}`;
}

/** What it has logged. Undefined if it has logged nothing. */
export function linesPart({ lines }: FoundJob, { now }: PageContext): Html | undefined {
  if (lines === undefined) return undefined;
  const row = ({ at, text }: LogLine, place: number): Html => html`<tr data-key="${String(place)}">
    <td>${moment(at, now)}</td>
    <td><bdi>${redact(text)}</bdi></td>
  </tr>`;
  return html`<h2>Log</h2>${table({ caption: 'What it has logged', isCaptionUnseen: true, columns: ['When', 'Line'], rows: lines.map(row) })}`;
}

function buttons({ job, isPaused }: JobStory, context: PageContext): Html | undefined {
  const { id, connection, queue, state } = job;
  const fields = { connection, id, queue };
  const all = [
    isPaused &&
      actionForm({ action: 'resume-queue', label: 'Resume the queue', fields: { connection, queue } }, context),
    ...(state === 'unknown' ? [] : jobButtons({ ...fields, state }, context)),
    job.steps !== undefined &&
      state === 'failed' &&
      actionForm({ action: 'restart-job', label: 'Retry from the start', fields }, context),
  ];
  return all.some(Boolean) ? html`<div class="choice">${all}</div>` : undefined;
}

function facts({ job }: JobStory, { now }: PageContext): Html | undefined {
  const { id, connection, queue, createdAt, attempts = 0 } = job;
  return factList([
    idFact(id),
    ['Class', job.name !== undefined && classLink({ name: job.name, connection })],
    ['Queue', queue !== undefined && queueLink({ connection, queue })],
    ['Connection', html`<bdi>${connection}</bdi>`],
    ['Dispatched', createdAt && moment(createdAt, now)],
    ['Attempts', attempts > 0 && attemptsCount(job)],
  ]);
}

function otherFailures({ otherFailures: others, job: { state } }: JobStory, context: PageContext): Html | undefined {
  if (others.length === 0) return undefined;
  return table({
    caption: state === 'failed' ? 'It also failed elsewhere' : 'Failed jobs with this id',
    columns: ['Queue', 'Connection', 'When', 'Error', ACTIONS],
    rows: others.map((failure) => otherRow(failure, context)),
  });
}

function otherRow(failure: ShownFailure, context: PageContext): Html {
  const { connection, queue, failedAt, error } = failure;
  return html`<tr data-key="${JSON.stringify([connection, queue, failedAt])}">
    <th scope="row">${jobLink(failure, html`<bdi>${queue}</bdi>`)}</th>
    <td><bdi>${connection}</bdi></td>
    <td>${failedAt && moment(failedAt, context.now)}</td>
    <td><bdi>${errorLine(error ?? '')}</bdi></td>
    <td class="actions">${jobButtons(failure, context)}</td>
  </tr>`;
}

/** As the badge shows it. `cancelled`: it no longer waits or runs, and records say why. */
type ShownState = FoundJob['state'] | 'cancelled';

/** The state of a job and what can be done about it, in a sentence each. */
function stateOf({ job: { state, history }, result }: JobStory): ShownState {
  const wasCancelled = result?.kind === 'cancelled' || history.at(-1)?.outcome === 'cancelled';
  return state === 'unknown' && wasCancelled ? 'cancelled' : state;
}

/** Follows the badge. */
function stateText(story: JobStory, context: PageContext): Shown {
  const text = STATES[stateOf(story)](story, context);
  if (story.job.waitsToRunAlone !== true) return text;
  return html`${text} <strong class="warn">It waits to run alone</strong>, because its next crash would be its last.`;
}

const STATES: Readonly<Record<ShownState, (story: JobStory, context: PageContext) => Shown>> = {
  failed: ({ job }, { now }) =>
    html`${job.failedAt && moment(job.failedAt, now)} after ${attemptsText(job)}: <bdi class="bad">${errorLine(job.error ?? '')}</bdi>`,
  ready: ({ job }, { now }) =>
    (job.attempts ?? 0) > 0
      ? `to run again, after ${attemptsText(job)}.`
      : html`It waits for a worker${job.createdAt && html`, and was dispatched ${moment(job.createdAt, now)}`}.`,
  delayed: ({ job }, { now }) =>
    html`It becomes ready ${job.at ? moment(job.at, now) : 'later'}${(job.attempts ?? 0) > 0 && `, after ${attemptsText(job)}`}.`,
  running: ({ job, run }, { now }) =>
    run === undefined
      ? html`in ${attemptText(job)}${leaseText(job, now)}.`
      : html`for ${spanText(Math.max(0, now - run.job.since.getTime()))} on <bdi>${run.worker.name}</bdi> ${String(run.worker.pid)}, in ${attemptText(job)}.`,
  completed: ({ job }, { now }) =>
    html`${job.completedAt ? moment(job.completedAt, now) : 'It has ended'}${job.attempts !== undefined && `, in attempt ${job.attempts}`}.`,
  cancelled: ({ result, job: { history } }) => {
    const reason = result?.reason ?? history.at(-1)?.error;
    return html`It was cancelled${reason === undefined ? '.' : html`: <bdi>${reason}</bdi>`}`;
  },
  unknown: ({ job: { connection, isSure } }) =>
    isSure
      ? html`No job with this id is waiting, running or failed on <bdi>${connection}</bdi>.`
      : html`<bdi>${connection}</bdi> has so many jobs that not all were searched; none of those searched has this id.`,
};

const ADVICE: Readonly<Record<ShownState, (story: JobStory, context: PageContext) => Shown>> = {
  failed: ({ job }) =>
    `Retry it once the cause is fixed: ${job.steps === undefined ? 'it starts again' : 'it goes on after these steps'}, with all its tries. Forget it if nobody needs it any more.`,
  ready: (story) => hindrance(story) ?? 'It runs when the jobs before it have been taken.',
  delayed: (story) => hindrance(story) ?? 'Then a worker takes it when its turn comes.',
  running: ({ job, run, isWorked }, context) => {
    if (run === undefined && isWorked === undefined)
      return 'Which worker runs it is unknown, because no records of workers are kept. If its lease ends, another worker gets the job.';
    if (run === undefined && isFresh(job, context))
      return 'A worker has just taken it, or renewed its lease. Workers report every five seconds; then you will see here which one it is.';
    if (run === undefined)
      return 'No worker reports that it runs it, although workers report every five seconds. If its lease ends, another worker gets the job.';
    if (!isSilent(run.worker)) return 'If you cancel it, its signal aborts, and it ends once it reacts to that.';
    const silence = spanText(run.worker.silentFor * 1000);
    return html`<strong class="warn">Its worker has been silent for ${silence}</strong>: it is stuck or has died. Once its lease ends, another worker gets the job.`;
  },
  completed: () => 'Nothing is left to do.',
  cancelled: () => 'It does not run again, and its data are gone. If it is needed after all, dispatch it again.',
  unknown: ({ job: { id, connection, isSure } }, { manager }) =>
    isSure
      ? html`${whyUnknown(manager)}: <a href="${address('search', { text: id })}">search all connections</a>.`
      : html`Name its queue to search further:
          <form action="job" class="action">
            <input type="hidden" name="connection" value="${connection}" /><input type="hidden" name="id" value="${id}" />
            <input type="text" name="queue" aria-label="Queue" required maxlength="255" /> <button>Search</button>
          </form>`,
};

/** Workers write every five seconds, and what was read is shown for two. */
const TOLD: Milliseconds = 7000;

/** Whether its lease began so recently that its worker may not have reported it. Unknown if it is longer than configured here. */
function isFresh({ connection, at }: FoundJob, { manager, now }: PageContext): boolean {
  if (at === undefined) return false;
  const held = now - at.getTime() + manager.settings(connection).retryAfter * 1000;
  // The store's clock may be slightly ahead.
  return Math.abs(held) < TOLD;
}

/** Why it will not run by itself. Undefined if it will, as far as is known. */
function hindrance({ job: { queue = '', connection }, isPaused, isWorked, fullness }: JobStory): Html | undefined {
  if (isPaused) return html`<strong class="warn">Its queue is paused:</strong> it runs once the queue is resumed.`;
  if (isWorked !== false)
    return fullness === undefined ? undefined : html`It is ready, but <strong>${fullness}</strong>.`;
  return html`<strong class="warn">No worker works on its queue.</strong> Start one:
    <code>npx onqueue work ${shellWord(connection)} --queue=${shellWord(queue)}</code>`;
}

function leaseText({ at }: FoundJob, now: Milliseconds): Html | undefined {
  if (at === undefined) return undefined;
  return at.getTime() < now
    ? html`. Its lease ended ${moment(at, now)}`
    : html`. Its lease ends ${moment(at, now)} unless its worker renews it`;
}

/** ` of 5`; empty if there is no limit, or it is unknown. */
function ofTries({ attempts = 0, tries = 0 }: FoundJob): string {
  return tries < attempts || tries === 0 ? '' : ` of ${tries}`;
}

/** `3 of 5 attempts`, `1 attempt` */
function attemptsText(job: FoundJob): string {
  const { attempts = 0 } = job;
  const of = ofTries(job);
  return `${attempts}${of} ${attempts === 1 && of === '' ? 'attempt' : 'attempts'}`;
}

const attemptText = (job: FoundJob): string => `attempt ${attemptsCount(job)}`;

/** `3 of 5` */
const attemptsCount = (job: FoundJob): string => `${job.attempts ?? 0}${ofTries(job)}`;

/** What most likely happened to a job of which nothing is known; without a full stop, so that the sentence can go on. */
export function whyUnknown(manager: QueueManager): Html {
  const completed = completedKept(manager);
  const kept =
    completed === undefined
      ? html`completed jobs leave no trace, because <code>history</code> in the configuration says so, unless <code>keepResult</code> of
          their class keeps them`
      : html`completed jobs are only kept as long as <code>history: { completed: ${JSON.stringify(completed)} }</code> in the
          configuration says`;
  return html`Most likely it has completed: ${kept}. Or it was cancelled while it waited, cleared, forgotten, or never sent here`;
}
