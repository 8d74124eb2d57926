/** `lanes`: lists the lanes of a queue, and sets, pauses or resumes one. */
import { oneLine, shellWord } from '../../base/text';
import type { LaneState } from '../../connections/contract';
import type { QueueLane } from '../../dispatch/queue-lane';
import type { Call } from '../command';
import { CONNECTION, count, type Given, LIMIT, LISTED, on, type ProjectFlags, text } from '../flags';
import { defineList } from '../list';
import { openConnection } from '../named-queues';

const FLAGS = {
  lane: text('<key>', 'the lane to change'),
  running: count('<count>', 'how many of its jobs may be ready or running at a time', 1),
  none: on('as many as its jobs say'),
  pause: on('let in no more jobs; those that are in go on'),
  resume: on('let jobs in again'),
  limit: LIMIT,
  after: text('<place>', 'continue after this place, as named by the previous list'),
  connection: CONNECTION,
};

type LanesCall = Call<Given<typeof FLAGS> & ProjectFlags>;

export const lanes = defineList({
  name: 'lanes',
  summary: 'list the lanes of a queue, or change one',
  description:
    'A lane lets so many jobs of one key be ready or running at a time; the others are held. What is set here counts for all ' +
    'workers until it is changed again.',
  examples: [
    ['onqueue lanes sync', 'the lanes of the queue sync: how many jobs are in, held, and may be in'],
    ['onqueue lanes sync --lane=tenant-7 --running=10', 'let ten of its jobs in at a time'],
    ['onqueue lanes sync --lane=tenant-7 --none', 'as many as its jobs say'],
    ['onqueue lanes sync --lane=tenant-7 --pause', 'let in no more'],
  ],
  words: ['[queue]', "the queue (default: the connection's default queue)"],
  flags: FLAGS,
  async run(call) {
    const { connection } = await openConnection(call);
    const { flags, output, words } = call;
    const [queue = connection.defaultQueue] = words;
    const changes = (['running', 'none', 'pause', 'resume'] as const).filter((flag) => flags[flag] !== undefined);
    if ((flags.lane !== undefined) !== changes.length > 0 || changes.length > 1)
      call.refuse('give --lane together with one of --running, --none, --pause and --resume');
    if (flags.lane !== undefined && flags.watch === true) call.refuse('give either --watch or --lane, not both.');
    if (flags.lane !== undefined) {
      const lane = connection.lane(queue, flags.lane);
      const done = await change(lane, call);
      output.result({ connection: connection.name, queue, lane: lane.key, ...done.facts });
      return output.line(done.line);
    }
    const found: LaneState[] = [];
    let next = flags.after;
    do {
      const page = await connection.lanes(queue, { after: next });
      found.push(...page.lanes);
      next = page.next;
    } while (next !== undefined && found.length < (flags.limit ?? LISTED));
    output.result({ connection: connection.name, queue, items: found, next });
    if (found.length === 0) return output.line(`No lane of ${queue} of ${connection.name} has jobs.`);
    const rows = found.map(({ lane, inside, held, running, paused }) => [
      oneLine(lane),
      inside,
      held,
      running,
      paused ? 'yes' : '',
    ]);
    output.list(['lane', 'in', 'held', 'may be in', 'paused'], rows);
    if (next !== undefined && !output.isJson)
      output.note(`There are more: --after=${shellWord(next)} shows the next ones, a higher --limit more at once.`);
  },
});

async function change(lane: QueueLane, { flags }: LanesCall): Promise<{ facts: object; line: string }> {
  const of = `${oneLine(lane.key)} of ${lane.queue}`;
  if (flags.pause === true) {
    await lane.pause();
    return { facts: { paused: true }, line: `Paused ${of}: it lets in no more jobs.` };
  }
  if (flags.resume === true) {
    await lane.resume();
    return { facts: { paused: false }, line: `Resumed ${of}.` };
  }
  await lane.limit(flags.running);
  const { running } = flags;
  const line = running === undefined ? `${of} lets in as many as its jobs say.` : `${of} lets in ${running} at a time.`;
  return { facts: { running: running ?? null }, line };
}
