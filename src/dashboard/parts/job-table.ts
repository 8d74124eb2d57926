/** Jobs as the rows of a table, with boxes to tick, and what can be done with a job in its state: without scripts too. */
import type { ListedJob, ListedState } from '../../operations/listed-job';
import { html, type Html } from '../html';
import type { PageContext } from '../view';
import { actionForm, actionMenu, failureButtons, hiddenFields, jobLink } from './links';
import { table, type Table } from './table';

/** The form of the ticked boxes. It cannot surround the table, which contains other forms. */
const FORM = 'chosen-jobs';

interface TickedAction {
  readonly action: string;
  /** `Retry`, of what is ticked. */
  readonly label: string;
  readonly isDangerous?: boolean;
}

const CANCEL = { action: 'cancel-jobs', label: 'Cancel', isDangerous: true };

const OF_STATE: Readonly<Record<ListedState, readonly TickedAction[]>> = {
  ready: [CANCEL],
  delayed: [{ action: 'promote-jobs', label: 'Run' }, CANCEL],
  running: [CANCEL],
  failed: [
    { action: 'retry-failed', label: 'Retry' },
    { action: 'forget-failed', label: 'Forget', isDangerous: true },
  ],
  completed: [],
};

type Place = Pick<ListedJob, 'connection' | 'id'> & { readonly queue?: string | undefined };

/** Names one job in forms, and as the key of its row. */
export const placeOf = ({ connection, queue, id }: Place): string => JSON.stringify([connection, queue, id]);

interface JobTable<Job> extends Omit<Table, 'rows'> {
  /** That of all its jobs. */
  readonly state: ListedState;
  readonly jobs: readonly Job[];
  readonly showsIds?: boolean;
  /** What its columns say of a job. */
  readonly cells: (job: Job) => Html;
}

/** Its first columns are a box, unless there is nothing to do with what is ticked, and the job. */
export function jobTable<Job extends Place & Pick<ListedJob, 'name' | 'waitsToRunAlone'>>(
  { state, jobs, showsIds = false, cells, columns, ...others }: JobTable<Job>,
  { viewer, here }: PageContext,
): Html {
  const actions = viewer.role === 'operator' ? OF_STATE[state] : [];
  const [first] = actions;
  const button = ({ action, label, isDangerous }: TickedAction): Html =>
    html`<button formaction="${action}"${isDangerous === true && html` class="danger"`}>${label} ticked</button>`;
  const row = (job: Job): Html => {
    const { id, name, waitsToRunAlone } = job;
    const place = placeOf(job);
    const box = html`<td>${id !== undefined && html`<input type="checkbox" name="job" value="${place}" form="${FORM}" aria-label="${name} ${id}">`}</td>`;
    return html`<tr${id !== undefined && html` data-key="${place}"`}>${first && box}<th scope="row">${jobLink(job)}${showsIds && html` <span class="soft mono">${id}</span>`}${waitsToRunAlone === true && html` <span class="badge warn">waits to run alone</span>`}</th>
${cells(job)}</tr>`;
  };
  const all = first && html`<td><input type="checkbox" data-all aria-label="Tick all"></td>`;
  return html`${first && html`<form method="post" action="${first.action}" id="${FORM}" class="choice">${hiddenFields({ back: here })}${actions.map(button)}</form>`}
${table({ ...others, columns: [all, 'Job', ...columns], rows: jobs.map(row) })}`;
}

/** `2 of 3` */
export function attemptsCell({ attempts, tries = 0 }: Pick<ListedJob, 'attempts' | 'tries'>): Html {
  return html`<td class="number">${attempts}${tries > 0 && html` <span class="soft">of ${tries}</span>`}</td>`;
}

/** What can be done with a job; nothing that its store cannot do. @param subject for viewers who do not see where the buttons are */
export function jobButtons(
  job: Place & { readonly state: string },
  context: PageContext,
  subject?: string,
): readonly (Html | undefined)[] {
  const { connection, queue, id, state } = job;
  const about = { fields: { connection, queue, id }, subject };
  if (state === 'failed') return failureButtons('job', about, context);
  const { control } = context.manager.driver(connection);
  if (state === 'completed' || control === undefined) return [];
  const canMove = state === 'delayed' && control.reschedule !== undefined;
  return [
    canMove ? actionForm({ ...about, action: 'promote-job', label: 'Run now' }, context) : undefined,
    canMove ? actionForm({ ...about, action: 'reschedule-job', label: 'Move' }, context) : undefined,
    // Not in a list, where it would be red in each row.
    actionForm({ ...about, action: 'cancel-job', label: 'Cancel', isDangerous: subject === undefined }, context),
  ];
}

/** The last cell of a row. A job without an id cannot be named in a form. */
export function actionsCell(
  job: Place & { readonly state: string; readonly name: string },
  context: PageContext,
): Html {
  const { id, name } = job;
  return html`<td class="actions">${id !== undefined && actionMenu(jobButtons(job, context, name), name)}</td>`;
}
