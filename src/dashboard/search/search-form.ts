/** What to search, and where: a form that works without scripts. */
import { JOB_STATES } from '../../operations/job-page';
import type { Snapshot } from '../../operations/snapshot';
import { html, type Html } from '../html';
import { LONGEST_TEXT, type Wanted } from './wanted';

/** @param watched the names of all connections whose jobs can be searched */
export function searchForm(wanted: Wanted, watched: readonly string[], seen: readonly Snapshot[]): Html {
  const { text, connection, queue, state } = wanted;
  const queues = [...new Set(seen.flatMap((snapshot) => snapshot.queues.map((one) => one.queue)))].toSorted();
  const others = seen.reduce((sum, { otherQueues }) => sum + otherQueues, 0);
  return html`<form action="search" class="filter" role="search">
    <label>Text <input type="search" name="text" value="${text}" maxlength="${LONGEST_TEXT}"${text === '' && html` autofocus`} /></label>
    ${(watched.length > 1 || connection !== undefined) && choice('Connection', 'connection', watched, connection)}
    ${others > 0 ? queueField(queue, queues) : choice('Queue', 'queue', queues, queue)} ${choice('State', 'state', JOB_STATES, state)}
    <button>Search</button>
  </form>`;
}

function choice(label: string, name: string, values: readonly string[], chosen: string | undefined): Html {
  const all = chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
  const option = (value: string): Html =>
    html`<option value="${value}"${value === chosen && html` selected`}>${value}</option>`;
  return html`<label>${label} <select name="${name}"><option value="">all</option>${all.map(option)}</select></label>`;
}

/** For connections with more queues than are listed. */
function queueField(queue: string | undefined, queues: readonly string[]): Html {
  return html`<label>Queue <input type="text" name="queue" value="${queue ?? ''}" list="queues" placeholder="all" maxlength="255" /></label>
    <datalist id="queues">${queues.map((each) => html`<option value="${each}"></option>`)}</datalist>`;
}
