/** The schedules, when they come up, and whether a worker keeps them. */
import type { Milliseconds } from '../../base/clock';
import { cadenceText } from '../../schedule/cadence';
import type { ComingOccurrence, ScheduleListing } from '../../schedule/schedules';
import { html, type Html, type Shown } from '../html';
import { actionForm, classLink } from '../parts/links';
import { ACTIONS, table } from '../parts/table';
import { counted, moment } from '../parts/text';
import type { Page, PageContext } from '../view';

/** How many occurrences of each are shown. */
const COMING = 5;

interface Coming extends ScheduleListing {
  readonly occurrences: readonly ComingOccurrence[];
}

export const schedules: Page = async (context) => {
  const { lookout, manager } = context;
  const withOccurrences = async (listing: ScheduleListing): Promise<Coming> => {
    const { name, next } = listing;
    const occurrences = next === undefined ? [] : await manager.schedules.occurrences(name, { count: COMING });
    return { ...listing, occurrences };
  };
  const read = async () => Promise.all((await manager.schedules.list()).map(withOccurrences));
  const found = await lookout.see('schedules', read);
  return {
    title: 'Schedules',
    parts: { schedules: found.length === 0 ? none() : scheduleTable(found, context) },
    data: found.map(({ problem, ...listing }) => ({ ...listing, problem: problem?.message })),
  };
};

function none(): Html {
  return html`<p class="empty">
    No schedule is declared. To declare one, write <code>@Job({ schedule: { cron: '0 3 * * *' } })</code> above a class, or
    <code>Queue.schedule(() =&gt; new Report()).daily()</code>.
  </p>`;
}

function scheduleTable(found: readonly Coming[], context: PageContext): Html {
  return table({
    caption: counted(found.length, 'schedule'),
    columns: ['Schedule', 'When', 'Next', 'Last', 'State', ACTIONS],
    rows: found.map((schedule) => scheduleRow(schedule, context)),
  });
}

function scheduleRow(schedule: Coming, context: PageContext): Html {
  const { name, spec, declared, next, last, occurrences } = schedule;
  const { now } = context;
  return html`<tr data-key="${name}">
    <th scope="row">
      <bdi>${name}</bdi>
      ${declared && html`<br><span class="soft">${classLink({ name: declared.job })} <code>${declared.origin}</code></span>`}
    </th>
    <td>
      <span class="mono">${declared?.cadence ?? cadenceText(spec)}</span>
      ${declared && html`<br><span class="soft">${policies(declared)}</span>`}
    </td>
    <td>${next ? comingDays(next, occurrences, now) : html`<span class="soft">–</span>`}</td>
    <td>${last ? moment(last, now) : html`<span class="soft">never yet</span>`}</td>
    <td>${stateOf(schedule, context)}</td>
    <td class="actions">${buttons(schedule, context)}</td>
  </tr>`;
}

function policies({ missed, overlap }: NonNullable<ScheduleListing['declared']>): string {
  const words = [
    missed.policy === 'latest' && 'makes up for the last missed one',
    missed.policy === 'all' && 'makes up for all missed ones',
    overlap === 'skip' && 'skipped while the last job still exists',
  ];
  return words.filter(Boolean).join(', ');
}

function comingDays(next: Date, occurrences: readonly ComingOccurrence[], now: Milliseconds): Html {
  const one = ({ at, wall, isClockChange }: ComingOccurrence): Html =>
    html`<li>${wall} <span class="soft">${moment(at, now)}${isClockChange && ', clocks change on that day'}</span></li>`;
  return html`<details><summary>${moment(next, now)}</summary><ol class="names">${occurrences.map(one)}</ol></details>`;
}

function stateOf(
  { declared, problem, pausedAt, isOrphan, isKept, skipped, heldBy }: Coming,
  { now }: PageContext,
): Html {
  const leftOut =
    skipped > 0 &&
    html`<br><span class="soft">${counted(skipped, 'occurrence')} skipped${heldBy && `; held up by ${heldBy.name} ${heldBy.id}: ${heldBy.why}`}</span>`;
  if (problem !== undefined) return html`<span class="bad">${problem.message}</span>${leftOut}`;
  if (pausedAt !== undefined)
    return html`<span class="badge warn">paused</span> <span class="soft">${moment(pausedAt, now)}</span>${leftOut}`;
  if (isOrphan)
    return html`<span class="badge warn">orphan</span><br><span class="soft">No longer declared; forgotten seven days after it was last sent.</span>`;
  if (!isKept)
    return html`<span class="badge bad">not active</span><br><span class="soft">Sends nothing until a worker runs that ${declared?.origin === 'stored' ? 'knows its job' : 'declares it'}.</span>${leftOut}`;
  return html`<span class="badge good">active</span>${leftOut}`;
}

function buttons({ name, declared, problem, pausedAt }: Coming, context: PageContext): readonly Shown[] {
  const button = (action: string, label: string): Html | undefined =>
    actionForm({ action, label, fields: { name }, subject: name }, context);
  return [
    declared !== undefined && problem === undefined && button('run-schedule', 'Run now'),
    pausedAt === undefined ? button('pause-schedule', 'Pause') : button('resume-schedule', 'Resume'),
    declared?.origin === 'stored' && button('remove-schedule', 'Remove'),
  ];
}
