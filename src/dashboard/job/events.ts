/** What happened to a job, in order: as a picture, and as a table with errors and the source that they came from. */
import { spanText } from '../../base/span';
import type { Milliseconds } from '../../base/clock';
import type { Attempt, AttemptOutcome } from '../../operations/history/attempt';
import { labelOf } from '../../operations/worker-record';
import { html, type Html } from '../html';
import { type Box, flow } from '../parts/flow';
import { OUTCOMES as RUNS } from '../parts/run-table';
import { sourceBlock, sourcePlace, stackBlock } from '../parts/stack';
import { numberColumn, table } from '../parts/table';
import { moment } from '../parts/text';
import type { PageContext } from '../view';
import type { JobStory } from './story';

interface JobEvent {
  /** `waits`: nobody works on it. `running`: its end is not yet known. */
  readonly kind: 'waits' | 'running' | AttemptOutcome;
  readonly from: Milliseconds;
  readonly until: Milliseconds;
  /** How long a run took. Undefined if unknown. */
  readonly ms?: Milliseconds | undefined;
  readonly attempt?: number | undefined;
  /** Undefined if nothing is kept of it. */
  readonly told?: Attempt | undefined;
  readonly isAhead?: boolean | undefined;
}

const OUTCOMES = { ...RUNS, running: { text: 'runs', tone: 'accent' } };

type RunEvent = JobEvent & { readonly kind: Exclude<JobEvent['kind'], 'waits'> };

const isRun = (event: JobEvent): event is RunEvent => event.kind !== 'waits';

export function eventsOf({ job, run }: JobStory, now: Milliseconds): readonly JobEvent[] {
  const { history, createdAt, failedAt, completedAt, at, state, attempts } = job;
  const events: JobEvent[] = [];
  const closed = failedAt ?? completedAt;
  let end: Milliseconds = createdAt?.getTime() ?? startOf(history[0]) ?? closed?.getTime() ?? now;
  const waitUntil = (moment: Milliseconds, isAhead = false): void => {
    // Clocks of several machines are never exactly equal.
    if (moment <= end) return;
    events.push({ kind: 'waits', from: end, until: moment, isAhead });
    end = moment;
  };
  for (const told of history) {
    waitUntil(startOf(told)!);
    const until = Math.max(end, told.at.getTime());
    events.push({ kind: told.outcome, from: end, until, ms: told.ms, attempt: told.attempt, told });
    end = until;
  }
  // If the last attempt was not kept, the job's end still tells of it.
  if (closed !== undefined && (history.length === 0 || history.at(-1)!.at.getTime() < closed.getTime() - SLACK)) {
    waitUntil(closed.getTime());
    events.push({ kind: state === 'failed' ? 'failed' : 'completed', from: end, until: end, attempt: attempts });
  }
  if (state === 'ready') waitUntil(now);
  if (state === 'delayed') {
    waitUntil(now);
    waitUntil(at?.getTime() ?? now, true);
  }
  if (state === 'running') {
    const since = run?.job.since.getTime();
    if (since !== undefined) waitUntil(since);
    events.push({
      kind: 'running',
      from: end,
      until: Math.max(end, now),
      ms: since && Math.max(0, now - since),
      attempt: attempts,
    });
  }
  return events;
}

/** The end of an attempt is written before the end of its job, by another clock. */
const SLACK: Milliseconds = 5000;

function startOf(attempt: Attempt | undefined): Milliseconds | undefined {
  return attempt && attempt.at.getTime() - (attempt.ms ?? 0);
}

/** What happened to a job, in words: each run with its error and the place in the source that it came from. */
export function eventTable(story: JobStory, events: readonly JobEvent[], { now }: PageContext): Html {
  const { createdAt, at, state } = story.job;
  const runs = events.filter(isRun);
  // The failed store has the last error with its causes; without a history it is the only one.
  const last = runs.at(-1);
  return table({
    caption: 'What happened',
    columns: ['When', 'What', numberColumn('Took'), 'Where'],
    rows: [
      ...(createdAt ? [simpleRow('dispatched', moment(createdAt, now), 'Dispatched')] : []),
      ...runs.map((event) => runRow(event, story, now, event === last ? story.failure?.exception : undefined)),
      ...(state === 'delayed' && at ? [simpleRow('due', moment(at, now), 'Becomes ready')] : []),
    ],
  });
}

function simpleRow(key: string, when: Html, what: string): Html {
  return html`<tr data-key="${key}"><td>${when}</td><td class="told">${what}</td><td></td><td></td></tr>`;
}

function runRow(
  { kind, attempt, until, from, ms, told }: RunEvent,
  { run }: JobStory,
  now: Milliseconds,
  exception: string | undefined,
): Html {
  const where = kind === 'running' ? run && labelOf(run.worker) : told?.worker;
  const began = kind === 'running' ? (run === undefined ? undefined : from) : until;
  return html`<tr data-key="${String(told?.fence ?? kind)}">
    <td>${began !== undefined && moment(new Date(began), now)}</td>
    <td class="told">
      Attempt ${attempt ?? '?'} <span class="badge ${OUTCOMES[kind].tone}">${OUTCOMES[kind].text}</span>
      ${told?.error !== undefined && html`<p class="error"><bdi>${told.error}</bdi></p>`}
      ${details(told, exception)}
    </td>
    <td class="number">${ms !== undefined && spanText(ms)}</td>
    <td>${where !== undefined && html`<bdi>${where}</bdi>`}</td>
  </tr>`;
}

function details(told: Attempt | undefined, exception: string | undefined): Html | undefined {
  const stack = exception ?? told?.stack;
  const source = told?.source;
  if (stack === undefined && source === undefined) return undefined;
  return html`<details${exception !== undefined && html` open`}>
    <summary>${source === undefined ? 'Stack' : sourcePlace(source)}</summary>
    ${source && sourceBlock(source)}${stack !== undefined && stackBlock(stack)}
  </details>`;
}

/** Runs and waits: if there are more, only the last ones are drawn. */
const MOST = 25;

/** A picture of what happened to a job: its runs, with the waits between them. */
export function timeline(events: readonly JobEvent[]): Html {
  const box = (event: JobEvent): Box => {
    const { kind, from, until, ms, attempt, isAhead } = event;
    if (!isRun(event))
      return { job: html`<span class="soft">${isAhead ? 'waits another' : 'waited'} ${spanText(until - from)}</span>` };
    const { text, tone } = OUTCOMES[event.kind];
    const note = ms !== undefined && `${kind === 'running' ? 'for' : 'took'} ${spanText(ms)}`;
    return { job: html`Attempt ${attempt ?? '?'}`, state: text, tone, note };
  };
  return flow('What happened, in order', events.slice(-MOST).map(box));
}
