/** One group of failures: what they have in common, when they happened, the newest stack, and the queues and workers that they came from. */
import { commonText } from '../../application/failed/failed-filter';
import type { Attempt } from '../../operations/history/attempt';
import { redact } from '../../base/redact';
import { isStoreAway } from '../../connections/errors';
import type { ErrorGroup } from '../../application/failed/error-groups';
import { labelOf } from '../../operations/worker-record';
import { html, type Html } from '../html';
import { type Chart, chartFigure, countsOf } from '../parts/chart';
import { classLink, queueLink } from '../parts/links';
import { sourceBlock, sourcePlace, stackBlock } from '../parts/stack';
import { factList } from '../parts/table';
import { moment, numberText, someOf } from '../parts/text';
import { lastAttempt, readOr, workersOf } from '../readings';
import type { PageContext } from '../view';

/** Jobs whose histories are read. */
const MOST_READ = 20;
const MOST_NAMED = 8;
/** Bars of the chart. */
const BARS = 48;
const LEAST_BARS = 12;

/** What the histories of its newest jobs say. */
export interface GroupStory {
  /** The last attempt of the newest job. */
  readonly newest: Attempt | undefined;
  /** How many of these jobs failed on each worker. */
  readonly workers: readonly (readonly [worker: string, count: number])[];
}

export async function groupStory(group: ErrorGroup, context: PageContext): Promise<GroupStory> {
  const { lookout } = context;
  const { connection, id } = group.newest;
  const read = async (): Promise<GroupStory> => {
    const attempts = await Promise.all(group.jobs.slice(0, MOST_READ).map((job) => lastAttempt(job, context)));
    const live = (await readOr(() => workersOf(connection, context), undefined, isStoreAway)) ?? [];
    const versions = new Map(live.map((worker) => [labelOf(worker), worker.version]));
    const named = attempts
      .flatMap((attempt) => attempt?.worker ?? [])
      .map((worker) => {
        const version = versions.get(worker);
        return version === undefined ? worker : `${worker} (Onqueue ${version})`;
      });
    return { newest: attempts[0], workers: counts(named) };
  };
  return lookout.see(JSON.stringify(['group', connection, id, group.count]), read, 10_000);
}

/** The most frequent first. */
function counts(texts: readonly string[]): readonly (readonly [string, number])[] {
  const all = new Map<string, number>();
  for (const text of texts) all.set(text, (all.get(text) ?? 0) + 1);
  return [...all].toSorted(([, a], [, b]) => b - a);
}

export function groupPart(group: ErrorGroup, story: GroupStory, context: PageContext): Html {
  const { error, newest, oldest, count, jobs } = group;
  const { now } = context;
  const source = story.newest?.source;
  const queues = counts(jobs.map(({ queue }) => queue));
  const attempts = counts(jobs.map((job) => String(job.attempts)));
  const causes = counts(
    jobs.flatMap(({ exception }) =>
      [...exception.matchAll(/^(?:Caused by|One of): (.*)$/gm)].map(([, cause = '']) => commonText(cause)),
    ),
  );
  const facts = factList([
    ['Class', classLink(newest)],
    ['Jobs', numberText(count)],
    ['First', moment(oldest.failedAt, now)],
    ['Last', moment(newest.failedAt, now)],
    ['Queues', listed(queues, (queue) => queueLink({ connection: newest.connection, queue }))],
    ['Attempts', listed(attempts, (text) => html`after ${text}`)],
    ['Caused by', causes.length > 0 && listed(causes, (cause) => html`<bdi>${cause}</bdi>`)],
    [
      `Workers of the newest ${Math.min(count, MOST_READ)}`,
      story.workers.length > 0 && listed(story.workers, (worker) => html`<bdi>${worker}</bdi>`),
    ],
  ]);
  const lines = source && { ...source, lines: source.lines.map(redact) };
  return html`<p class="state"><bdi class="bad">${error} …</bdi></p>${facts}
${count > 1 && chartFigure(chartOf(group))}
<h2>Newest stack${lines && html` <span class="soft">${sourcePlace(lines)}</span>`}</h2>${lines && sourceBlock(lines)}${stackBlock(newest.exception)}`;
}

function listed(all: readonly (readonly [string, number])[], shown: (text: string) => Html): Html {
  const one = ([text, count]: readonly [string, number]): Html =>
    html`${shown(text)}${all.length > 1 && html` <span class="soft">${numberText(count)}</span>`}`;
  return someOf(all, MOST_NAMED, one);
}

/** From its first failure to its last. */
function chartOf({ moments }: ErrorGroup): Chart {
  const [last, first] = [moments[0]!, moments.at(-1)!];
  // To whole minutes, so that a bar does not move with each update.
  const step = Math.max(Math.ceil((last - first + 1) / BARS / 60_000), 1) * 60_000;
  const end = Math.floor(last / step);
  const begin = Math.min(Math.floor(first / step), end - LEAST_BARS + 1);
  const start = begin * step;
  const bars = countsOf(moments, start, step, end - begin + 1);
  return {
    id: 'group-chart',
    title: 'When these jobs failed',
    kind: 'bars',
    at: bars.map((_, place) => new Date(start + place * step)),
    series: [{ label: 'failed', tone: 'bad', values: bars }],
    text: numberText,
  };
}
