/** Rows with boxes to tick, and buttons for what is ticked: without scripts too. */
import type { ListedJob, ListedState } from '../../operations/listed-job';
import { html, type Html } from '../html';
import type { PageContext } from '../view';
import { hiddenFields } from './links';

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

/** The buttons, the heading of the column and the box of a job. All undefined for viewers who may only look. */
export function ticks(state: ListedState, { viewer, here }: PageContext) {
  const actions = OF_STATE[state];
  if (viewer.role !== 'operator' || actions.length === 0)
    return { buttons: undefined, heading: undefined, box: () => undefined };
  const button = ({ action, label, isDangerous }: TickedAction, place: number): Html =>
    html`<button${place > 0 && html` formaction="${action}"`}${isDangerous === true && html` class="danger"`}>${label} ticked</button>`;
  return {
    buttons: html`<form method="post" action="${actions[0]!.action}" id="${FORM}" class="choice">${hiddenFields({ back: here })}${actions.map(button)}</form>`,
    heading: html`<td><input type="checkbox" data-all aria-label="Tick all"></td>`,
    box: (job: Place & Pick<ListedJob, 'name'>) =>
      html`<td>${job.id !== undefined && html`<input type="checkbox" name="job" value="${placeOf(job)}" form="${FORM}" aria-label="${job.name} ${job.id}">`}</td>`,
  };
}

type Place = Pick<ListedJob, 'connection' | 'queue' | 'id'>;

/** Names one job in forms, and as the key of its row. */
export const placeOf = ({ connection, queue, id }: Place): string => JSON.stringify([connection, queue, id]);
