/** Everything about one job. */
import { spanText } from '../../base/span';
import type { Milliseconds } from '../../base/clock';
import type { ResolvedBackoff } from '../../job/duration';
import { type ChosenOptions, NOTHING_CHOSEN, type RunOptions } from '../../job/options';
import { keptResult, resolveRun } from '../../job/resolve-options';
import type { FoundJob } from '../../operations/found-job';
import { readChosen } from '../../payload/payload-text';
import { html, type Html, type Shown } from '../html';
import { dataPart, resultPart } from '../job/data';
import { eventsOf, eventTable, timeline } from '../job/events';
import { batchOf, linksOf, linksPart } from '../job/links';
import { linesPart, statePart, stepsPart } from '../job/state';
import { fieldsOf, isLaravels, readStory } from '../job/story';
import { type Fact, factList } from '../parts/table';
import { moment } from '../parts/text';
import type { Page, PageContext } from '../view';

export const job: Page = async (context) => {
  const story = await readStory(context);
  const { job: found, failure, otherFailures, result, run } = story;
  const events = eventsOf(story, context.now);
  const links = linksOf(found);
  const hasRun = events.some(({ kind }) => kind !== 'waits');
  return {
    title: found.name ?? 'Job',
    parts: {
      'job-state': statePart(story, context),
      'job-steps': stepsPart(found, context),
      'job-lines': linesPart(found, context),
      'job-events': hasRun ? html`${timeline(events)}${eventTable(story, events, context)}` : undefined,
      'job-result': resultPart(result),
      'job-links': linksPart(links, found, await batchOf(links, context), context),
      'job-data': dataPart(found),
      'job-options': optionsPart(found, context),
    },
    data: {
      ...found,
      exception: failure?.exception,
      otherFailures,
      result,
      runsOn: run && {
        id: run.worker.id,
        name: run.worker.name,
        host: run.worker.host,
        pid: run.worker.pid,
        since: run.job.since,
      },
      ...links,
    },
  };
};

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
function optionsPart(job: FoundJob, { manager, now }: PageContext): Html | undefined {
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
