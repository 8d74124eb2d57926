/** How a job is run: its options, each with the place where it was set. */
import { spanText } from '../../base/span';
import type { Milliseconds } from '../../base/clock';
import { valueText } from '../../base/text';
import type { ResolvedBackoff } from '../../job/duration';
import { type ChosenOptions, NOTHING_CHOSEN, type RunOptions } from '../../job/options';
import type { JobDefinition } from '../../job/registry';
import { keptResult, resolveRun } from '../../job/resolve-options';
import type { FoundJob } from '../../operations/found-job';
import { readChosen } from '../../payload/payload-text';
import { html, type Html, type Shown } from '../html';
import { type Fact, factList } from '../parts/table';
import { capitalised, moment } from '../parts/text';
import type { PageContext } from '../view';
import { fieldsOf, isLaravels } from './story';

const limit = (count: number): string => (count === 0 ? 'no limit' : String(count));

/** What each is set to. Undefined if there is nothing to show. */
const OPTIONS: { readonly [Option in keyof RunOptions]: (run: RunOptions, now: Milliseconds) => Shown } = {
  tries: ({ tries }) => limit(tries),
  backoff: ({ backoff }) => backoffText(backoff),
  timeout: ({ timeout }) => (timeout === 0 ? 'none' : spanText(timeout * 1000)),
  retryUntil: ({ retryUntil }, now) => (retryUntil === undefined ? undefined : moment(new Date(retryUntil), now)),
  maxExceptions: ({ maxExceptions }) => maxExceptions,
  maxCrashes: ({ maxCrashes }) => limit(maxCrashes),
  failOnTimeout: ({ failOnTimeout }) => (failOnTimeout ? 'yes' : undefined),
};

/** Undefined if nothing is known of how it is run. */
export function optionsPart(job: FoundJob, { manager, now }: PageContext): Html | undefined {
  const fields = fieldsOf(job);
  const definition = job.name === undefined ? undefined : manager.registry.find(job.name);
  if (fields === undefined || (isLaravels(fields) && definition === undefined)) return undefined;
  const shown = factList(optionFacts(chosenIn(fields), definition, now));
  const unknown =
    definition === undefined &&
    html`<p class="soft">No class with this name is registered here, so its own options are unknown.</p>`;
  return shown === undefined ? unknown || undefined : html`<h2>Options</h2>${shown}${unknown}`;
}

/** Each with its source. @param chosen by the dispatch of one job */
export function optionFacts(
  chosen: ChosenOptions,
  definition: JobDefinition | undefined,
  now: Milliseconds,
): readonly Fact[] {
  const run = resolveRun({ payload: chosen, definition, worker: {} });
  const facts: Fact[] = [];
  for (const option of Object.keys(OPTIONS) as (keyof RunOptions)[]) {
    const text = OPTIONS[option](run, now);
    const isChosen = chosen[option] !== undefined;
    // If the class is unknown, defaults would be a guess.
    if (text === undefined || (!isChosen && definition === undefined)) continue;
    const by = isChosen ? 'its dispatch' : definition?.options[option] === undefined ? defaultOf(option) : 'its class';
    facts.push([labelOf(option), html`${text} <span class="soft">${by}</span>`]);
  }
  const kept = keptResult(definition);
  if (kept !== undefined && kept > 0)
    facts.push(['Result is kept', html`${spanText(kept * 1000)} <span class="soft">its class</span>`]);
  return facts;
}

/** What else its class sets: where its jobs go, and what they are part of. */
export function classFacts({ options }: JobDefinition): readonly Fact[] {
  const others = Object.entries(options).filter(
    ([option, value]) => value !== undefined && option !== 'keepResult' && !Object.hasOwn(OPTIONS, option),
  );
  return others.map(([option, value]) => [
    labelOf(option),
    html`<code><bdi>${typeof value === 'string' ? value : valueText(value)}</bdi></code> <span class="soft">its class</span>`,
  ]);
}

/** `uniqueFor` → `Unique for` */
function labelOf(option: string): string {
  return capitalised(option.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}

const BY_WORKER: readonly string[] = ['tries', 'backoff', 'timeout'];

const defaultOf = (option: string): string =>
  BY_WORKER.includes(option) ? 'unless its worker says otherwise' : 'default';

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
