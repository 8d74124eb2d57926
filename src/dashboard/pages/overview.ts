/** How all queues are: the first page. */
import type { QueueSnapshot, Snapshot } from '../../operations/snapshot';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { actionForm } from '../parts/action-form';
import { counted, numberText } from '../parts/number';
import { moment, secondsText } from '../parts/time';
import type { Page, PageContext } from '../view';
import { watchedConnections } from '../watched-connections';

export const overview: Page = async (context) => {
  const { manager, lookout } = context;
  const snapshots = await Promise.all(
    watchedConnections(manager).map((name) =>
      lookout.see(`snapshot ${name}`, () => manager.connection(name).snapshot()),
    ),
  );
  return {
    title: 'Overview',
    parts: snapshots.map((snapshot, place) => ({ id: `queues-${place}`, html: queueTable(snapshot, context) })),
    data: snapshots,
  };
};

function queueTable({ connection, queues }: Snapshot, context: PageContext): Html {
  return html`<table>
    <caption>
      Queues of ${connection}
      <span class="soft">${counted(queues.length, 'queue')}</span>
    </caption>
    <thead>
      <tr>
        <th scope="col">Queue</th>
        <th scope="col" class="number">Ready</th>
        <th scope="col" class="number">Delayed</th>
        <th scope="col" class="number">Running</th>
        <th scope="col" class="number">Failed</th>
        <th scope="col" class="number">Oldest waits</th>
        <th scope="col" class="number">A minute</th>
        <th scope="col"><span class="unseen">Actions</span></th>
      </tr>
    </thead>
    <tbody>
      ${queues.map((queue) => queueRow(connection, queue, context))}
    </tbody>
  </table>`;
}

function queueRow(connection: string, row: QueueSnapshot, context: PageContext): Html {
  const { queue, ready, delayed, running, failed, oldestWait, rate, isPaused, pausedUntil } = row;
  const now = context.manager.clock.now();
  const pause = { action: 'pause-queue', label: 'Pause' };
  const resume = { action: 'resume-queue', label: 'Resume' };
  const button = { ...(isPaused ? resume : pause), fields: { connection, queue }, subject: queue };
  return html`<tr data-key="${queue}">
    <th scope="row">
      <a href="${address('queue', { connection, queue })}"><bdi>${queue}</bdi></a>
      ${isPaused && html` <span class="badge">paused${pausedUntil && html` until ${moment(pausedUntil, now)}`}</span>`}
    </th>
    <td class="number">${numberText(ready)}</td>
    <td class="number">${numberText(delayed)}</td>
    <td class="number">${numberText(running)}</td>
    <td class="number">${failed !== undefined && numberText(failed)}</td>
    <td class="number">${secondsText(oldestWait)}</td>
    <td class="number">${rate !== undefined && numberText(rate)}</td>
    <td>${actionForm(button, context)}</td>
  </tr>`;
}
