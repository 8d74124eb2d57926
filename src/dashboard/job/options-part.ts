/** How a job is run: what its dispatch or its class says about each option, or the default. */
import type { Milliseconds } from '../../base/clock';
import type { ResolvedBackoff } from '../../job/duration';
import { NOTHING_CHOSEN, type ChosenOptions, type RunOptions } from '../../job/options';
import { keptResult, resolveRun } from '../../job/resolve-options';
import { readChosen } from '../../payload/payload-text';
import type { FoundJob } from '../../operations/found-job';
import { html, type Html, type Shown } from '../html';
import { factList, type Fact } from '../parts/facts';
import { moment, spanText } from '../parts/time';
import type { PageContext } from '../view';
import { fieldsOf } from './job-story';

interface ShownOption {
  readonly label: string;
  /** Undefined if there is nothing to show. */
  readonly text: (run: RunOptions, now: Milliseconds) => Shown;
}

const limit = (count: number): string => (count === 0 ? 'no limit' : String(count));

const OPTIONS: { readonly [Option in keyof RunOptions]: ShownOption } = {
  tries: { label: 'Tries', text: ({ tries }) => limit(tries) },
  backoff: { label: 'Backoff', text: ({ backoff }) => backoffText(backoff) },
  timeout: { label: 'Timeout', text: ({ timeout }) => (timeout === 0 ? 'none' : spanText(timeout * 1000)) },
  retryUntil: {
    label: 'Retried until',
    text: ({ retryUntil }, now) => (retryUntil === undefined ? undefined : moment(new Date(retryUntil), now)),
  },
  maxExceptions: { label: 'Max. exceptions', text: ({ maxExceptions }) => maxExceptions },
  maxCrashes: { label: 'Max. crashes', text: ({ maxCrashes }) => limit(maxCrashes) },
  failOnTimeout: { label: 'Fails on a timeout', text: ({ failOnTimeout }) => (failOnTimeout ? 'yes' : undefined) },
};

/** Undefined if nothing is known of how it is run. */
export function optionsPart(job: FoundJob, { manager, now }: PageContext): Html | undefined {
  const fields = fieldsOf(job);
  const definition = job.name === undefined ? undefined : manager.registry.find(job.name);
  if (fields === undefined || (isLaravels(fields) && definition === undefined)) return undefined;
  const chosen = chosenIn(fields);
  const run = resolveRun({ payload: chosen, definition, worker: {} });
  const facts: Fact[] = [];
  for (const [option, { label, text: textOf }] of Object.entries(OPTIONS) as [keyof RunOptions, ShownOption][]) {
    const text = textOf(run, now);
    const isChosen = chosen[option] !== undefined;
    // If the class is unknown, defaults would be a guess.
    if (text === undefined || (!isChosen && definition === undefined)) continue;
    const by = isChosen ? 'its dispatch' : definition?.options[option] === undefined ? defaultOf(option) : 'its class';
    facts.push([label, html`${text} <span class="soft">${by}</span>`]);
  }
  const kept = keptResult(definition);
  if (kept !== undefined && kept > 0)
    facts.push(['Result is kept', html`${spanText(kept * 1000)} <span class="soft">its class</span>`]);
  const unknown =
    definition === undefined &&
    html`<p class="soft">No class with this name is registered here, so its own options are unknown.</p>`;
  const shown = factList(facts);
  return shown === undefined ? unknown || undefined : html`<h2>Options</h2>${shown}${unknown}`;
}

const BY_WORKER: readonly string[] = ['tries', 'backoff', 'timeout'];

const defaultOf = (option: string): string =>
  BY_WORKER.includes(option) ? 'unless its worker says otherwise' : 'default';

/** Whether it is one of Laravel's own classes: only Laravel's workers know what its fields mean. */
export function isLaravels({ job }: Readonly<Record<string, unknown>>): boolean {
  return typeof job === 'string' && job.startsWith('Illuminate\\');
}

function chosenIn(fields: Readonly<Record<string, unknown>>): ChosenOptions {
  try {
    return readChosen(fields, !String(fields['job']).startsWith('onqueue'));
  } catch {
    return NOTHING_CHOSEN;
  }
}

/** How many waits of a list are shown. */
const MOST_WAITS = 8;

function backoffText({ delays, jitter }: ResolvedBackoff): string {
  if (delays.every((delay) => delay === 0)) return 'none';
  const waits = delays.slice(0, MOST_WAITS).map((delay) => spanText(delay * 1000));
  if (delays.length > MOST_WAITS) waits.push('…');
  return `${waits.join(', ')}${jitter > 0 ? ` ± ${Math.round(jitter * 100)} %` : ''}`;
}
