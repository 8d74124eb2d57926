/** What happened to a job, in words: each run with its error and the place in the source that it came from. */
import type { Milliseconds } from '../../base/clock';
import type { Attempt, SourceLines } from '../../operations/history/attempt';
import { html, type Html } from '../html';
import { counted } from '../parts/number';
import { moment, spanText } from '../parts/time';
import { type JobEvent, OUTCOMES } from './events';
import type { PageContext } from '../view';
import type { JobStory } from './job-story';

/** In characters. */
const LONGEST_STACK = 16 * 1024;

export function eventTable(story: JobStory, events: readonly JobEvent[], { now }: PageContext): Html {
  const { createdAt, at, state } = story.job;
  const runs = events.filter(({ kind }) => kind !== 'waits');
  // The failed store has the last error with its causes; without a history it is the only one.
  const last = runs.at(-1);
  return html`<table class="events">
    <caption>What happened</caption>
    <thead><tr><th scope="col" class="when">When</th><th scope="col">What</th><th scope="col" class="number took">Took</th><th scope="col" class="where">Where</th></tr></thead>
    <tbody>
      ${createdAt && simpleRow('dispatched', moment(createdAt, now), 'Dispatched')}
      ${runs.map((event) => runRow(event, story, now, event === last ? story.failure?.exception : undefined))}
      ${state === 'delayed' && at && simpleRow('due', moment(at, now), 'Becomes ready')}
    </tbody>
  </table>`;
}

function simpleRow(key: string, when: Html, what: string): Html {
  return html`<tr data-key="${key}"><td>${when}</td><td>${what}</td><td></td><td></td></tr>`;
}

function runRow(
  { kind, attempt, until, from, ms, told }: JobEvent,
  { run }: JobStory,
  now: Milliseconds,
  exception: string | undefined,
): Html {
  if (kind === 'waits') return html``;
  const where = kind === 'running' ? run && `${run.worker.name}:${run.worker.pid}` : told?.worker;
  const began = kind === 'running' ? (run === undefined ? undefined : from) : until;
  return html`<tr data-key="${String(told?.fence ?? kind)}">
    <td>${began !== undefined && moment(new Date(began), now)}</td>
    <td>
      Attempt ${attempt ?? '?'} <span class="badge ${OUTCOMES[kind].tone}">${OUTCOMES[kind].text}</span>
      ${told?.error !== undefined && html`<p class="error"><bdi>${told.error}</bdi></p>`}
      ${details(told, exception)}
    </td>
    <td class="number">${ms !== undefined && spanText(ms)}</td>
    <td><bdi>${where ?? ''}</bdi></td>
  </tr>`;
}

function details(told: Attempt | undefined, exception: string | undefined): Html | undefined {
  const stack = exception ?? told?.stack;
  const source = told?.source;
  if (stack === undefined && source === undefined) return undefined;
  return html`<details${exception !== undefined && html` open`}>
    <summary>${source === undefined ? 'Stack' : html`<bdi class="mono">${source.file}:${String(source.line)}</bdi>`}</summary>
    ${source && sourceLines(source)}${stack !== undefined && html`<pre class="stack" tabindex="0">${bounded(stack)}</pre>`}
  </details>`;
}

/** Our stacks are shorter; another program may have kept longer ones. */
function bounded(stack: string): string {
  const left = stack.length - LONGEST_STACK;
  return left <= 0 ? stack : `${stack.slice(0, LONGEST_STACK)}\n… and ${counted(left, 'more character')}`;
}

function sourceLines({ line, from, lines }: SourceLines): Html {
  const rows = lines.map((text, place) => {
    const number = from + place;
    const isIt = number === line;
    return html`<span${isIt && html` class="marked"`}>${isIt ? '> ' : '  '}${String(number).padStart(5)}  ${text}
</span>`;
  });
  return html`<pre class="source" tabindex="0" aria-label="Lines of the source around line ${line}">${rows}</pre>`;
}
