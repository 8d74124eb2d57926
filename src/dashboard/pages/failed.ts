/** What has failed and why: grouped by error, and one by one; read in bounded steps, as the address or a form chooses. */
import { type FailedFilter, type FailedJob, matching } from '../../application/failed/failed-filter';
import { address } from '../addresses';
import { type ErrorGroup, errorGroups } from '../../application/failed/error-groups';
import { html, type Html } from '../html';
import { type FailedLook, type FailedStart, failureTable, lookAtFailed, startIn, startText } from '../parts/failures';
import { type Choice, choiceOf, filterForm } from '../parts/filter';
import { jobTable } from '../parts/job-table';
import { failureButtons, pageLinks, queueLink } from '../parts/links';
import { numberColumn } from '../parts/table';
import { counted, errorLine, moment, numberText, troubles } from '../parts/text';
import type { Page, PageContext } from '../view';
import { groupPart, groupStory } from './failure-group';

/** Jobs of one page. */
const PAGE = 50;
const MOST_GROUPS = 30;

interface Found {
  readonly choice: FailedChoice;
  readonly from: FailedStart;
  readonly look: FailedLook;
  /** The jobs that match, with the position of each in the look. */
  readonly fitting: readonly { readonly job: FailedJob; readonly at: number }[];
}

export const failed: Page = async (context) => {
  const { query } = context;
  const choice = choiceIn(query);
  const from = startIn(query.get('from'));
  const look = await lookAtFailed(context, choice.queue, from);
  const fits = matching(filterOf(choice) ?? {}, context.now);
  const fitting = look.jobs.flatMap((job, at) => (fits(job) ? { job, at } : []));
  const found = { choice, from, look, fitting };
  const groups = errorGroups(fitting.map(({ job }) => job));
  const [only] = choice.group !== undefined && groups.length === 1 ? groups : [];
  const story = only && (await groupStory(only, context));
  return {
    title: only === undefined ? 'Failed jobs' : only.name,
    trail: only && [['Failed jobs', address('failed')]],
    parts: {
      'failed-choice': choiceForm(choice),
      'failed-groups': groupList(groups, found, context, only && groupPart(only, story!, context)),
      'failed-jobs': fitting.length === 0 ? undefined : jobList(found, context),
    },
    data: {
      total: look.total,
      lookedAt: look.jobs.length,
      isCut: look.isCut,
      away: look.away,
      groups: groups.map(({ newest, oldest, moments: _moments, jobs: _jobs, ...group }) => ({
        ...group,
        newestId: newest.id,
        newestAt: newest.failedAt,
        oldestAt: oldest.failedAt,
      })),
      jobs: fitting.slice(0, PAGE).map(({ job: { payload: _payload, exception, ...job } }) => ({
        ...job,
        error: errorLine(exception),
      })),
    },
  };
};

const AGES = [
  ['', 'at any time'],
  ['1h', 'more than an hour ago'],
  ['1d', 'more than a day ago'],
  ['7d', 'more than a week ago'],
] as const;

function choiceForm(choice: FailedChoice): Html {
  const { connection, group, batch, olderThan = '' } = choice;
  const isUsual = AGES.some(([value]) => value === olderThan);
  const values = isUsual ? AGES : [...AGES, [olderThan, `more than ${olderThan} ago`] as const];
  // Without a field in the form.
  const others = choiceText({ connection, group, batch });
  const fields = { name: 'Job', queue: 'Queue', error: 'Error contains', olderThan: { label: 'Failed', values } };
  return html`${filterForm('failed', choice, fields)}${others !== '' && html`<p class="soft">${others}</p>`}`;
}

/** @param only all about the group, if there is one */
function groupList(groups: readonly ErrorGroup[], found: Found, context: PageContext, only?: Html): Html {
  const { choice, look, from } = found;
  const first = from.seen > 0 ? address('failed', choice) : undefined;
  if (groups.length === 0)
    return html`${troubles(look.away)}<p class="empty">${nothing(found)}</p>${pageLinks(first, further(found), 'Search further')}`;
  const which = Object.keys(choice).length > 0 ? ' all that match' : ' all';
  return html`${troubles(look.away)}<div class="with-actions"><p>${sumOf(found)}</p>
<div class="actions">${failureButtons('failed', { fields: { ...choice, all: 'yes' } }, context, which)}</div></div>
${only ?? failureTable('By error', groups, context, { choice, most: MOST_GROUPS })}`;
}

function sumOf({ look, fitting, choice }: Found): Html {
  const { jobs, isCut, total } = look;
  const isChosen = Object.keys(choice).length > 0;
  if (!isCut && !isChosen) return html`<strong>${counted(jobs.length, 'failed job')}</strong>`;
  const of = total === undefined ? '' : ` of ${numberText(total)}`;
  const fit = isChosen
    ? html`<strong>${counted(fitting.length, 'failed job')}</strong> ${fitting.length === 1 ? 'matches' : 'match'}. `
    : undefined;
  return html`${fit}<span class="soft">Searched ${isCut ? 'the newest ' : ''}${numberText(jobs.length)}${of}.</span>`;
}

function nothing({ choice, look, from }: Found): string {
  if (look.jobs.length === 0 && from.seen > 0) return 'There are no more.';
  if (look.jobs.length === 0 && Object.keys(choice).length === 0)
    return 'No job has failed. Jobs that run out of tries are kept here until they are retried or forgotten.';
  return look.isCut ? `None of the ${numberText(look.jobs.length)} searched jobs matches.` : 'No failed job matches.';
}

function further(found: Found): string | undefined {
  return found.look.isCut ? addressBehind(found, found.look.jobs.length) : undefined;
}

/** @param count how many jobs of the look come before that page */
function addressBehind({ choice, look, from }: Found, count: number): string {
  const start = { seen: from.seen + count, places: look.places[count - 1] ?? from.places };
  return address('failed', { ...choice, from: startText(start) });
}

function jobList(found: Found, context: PageContext): Html {
  const { choice, fitting, from } = found;
  const rest = fitting[PAGE];
  const next = rest === undefined ? further(found) : addressBehind(found, rest.at);
  const first = from.seen > 0 ? address('failed', choice) : undefined;
  const shown = jobTable(
    {
      state: 'failed',
      jobs: fitting.slice(0, PAGE).map(({ job }) => job),
      showsIds: true,
      caption: 'Failed jobs, newest first',
      isCaptionUnseen: true,
      columns: ['Queue', 'Failed', numberColumn('Attempts'), 'Error'],
      cells: (
        job,
      ) => html`<td>${queueLink(job)}</td><td>${moment(job.failedAt, context.now)}</td><td class="number">${job.attempts}</td>
<td class="line message"><bdi>${errorLine(job.exception)}</bdi></td>`,
    },
    context,
  );
  return html`${shown}${pageLinks(first, next, rest === undefined ? 'Search further' : undefined)}`;
}

/** The names of the fields in forms and addresses. */
export const CHOICES = ['connection', 'queue', 'name', 'error', 'group', 'batch', 'olderThan'] as const;

type FailedChoice = Choice<(typeof CHOICES)[number]>;

export const choiceIn = (fields: URLSearchParams): FailedChoice => choiceOf(fields, CHOICES);

/** Undefined if all jobs are meant. */
export function filterOf(choice: FailedChoice): FailedFilter | undefined {
  return Object.keys(choice).length === 0 ? undefined : (choice as FailedFilter);
}

/** `of the queue mail, with "452" in their error` */
export function choiceText({ connection, queue, name, error, group, batch, olderThan }: FailedChoice): string {
  const words = [
    name && `of the class ${name}`,
    queue && `of the queue ${queue}`,
    connection && `of the connection ${connection}`,
    batch && `of the batch ${batch}`,
    group && `that failed with “${group}”`,
    error && `with “${error}” in their error`,
    olderThan && `that failed more than ${olderThan} ago`,
  ];
  return words.filter(Boolean).join(', ');
}
