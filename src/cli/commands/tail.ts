/** `tail`: what happens to jobs, a line each as it happens, until it is stopped. */
import type { JobEvent } from '../../operations/events/job-event';
import { defineCommand } from '../command';
import { CONNECTION, names, namesIn, on, text } from '../flags';
import { WIDE } from '../list';
import { openConnection } from '../named-queues';
import type { Cell, Output, Tone } from '../output';
import { stopped } from '../stop-signals';

export const tail = defineCommand({
  name: 'tail',
  summary: 'show how jobs end, as it happens',
  description:
    'Jobs of all workers that keep records in the same store, from up to two seconds after the start on. It shows most of what happens and not each ' +
    'single job: for that, see onqueue inspect. With --json it prints one object a line. It goes on until it is stopped.',
  examples: [
    ['onqueue tail', 'all queues of the default connection'],
    ['onqueue tail --queue=mail --all', 'one queue, also starts and progress'],
    ['onqueue tail --name=SendInvoice,ChargeCard', 'two classes'],
    ['onqueue tail --json | jq \'select(.type == "failed")\'', 'for a program'],
  ],
  flags: {
    queue: text('<name>', 'only jobs of this queue'),
    name: names('only jobs of these names, such as SendInvoice,ChargeCard'),
    all: on('also when jobs start, and their progress'),
    connection: CONNECTION,
    wide: WIDE,
  },
  async run(call) {
    const { queue, name, all = false } = call.flags;
    const { connection } = await openConnection(call);
    const end = new AbortController();
    const jobs = name === undefined ? undefined : namesIn(name, '--name');
    const events = connection.events({ queue, names: jobs, signal: end.signal });
    void stopped(call.session.surroundings).then(() => end.abort());
    for await (const event of events) if (all || event.type in ENDINGS) tell(call.output, event);
  },
});

/** What a run may come to. */
const ENDINGS: Readonly<Partial<Record<JobEvent['type'], Tone>>> = {
  completed: 'good',
  failed: 'bad',
  released: 'warning',
  cancelled: 'warning',
};

const WIDTHS = ['12:00:00'.length, 'progressed'.length];

function tell(output: Output, event: JobEvent): void {
  if (output.isJson) return output.document(event);
  const { type, at, name, queue, id, attempt } = event;
  const what: Cell = { text: type, tone: ENDINGS[type] };
  const time = at.toISOString().slice(11, 19);
  const again = attempt === 1 ? '' : `attempt ${attempt}`;
  output.row([time, what, name, queue, id, again, detailOf(event)], WIDTHS);
}

function detailOf(event: JobEvent): string {
  if (event.type === 'progressed') return `${Math.round(event.value * 100)} % ${event.text ?? ''}`.trimEnd();
  return (event.type === 'failed' || event.type === 'released' ? event.error : undefined) ?? '';
}
