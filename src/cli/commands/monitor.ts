/**
 * `monitor`: the state of the queues and the running jobs; on a terminal redrawn every two seconds, with keys to pause queues.
 */
import type { Snapshot } from '../../operations/snapshot';
import { type Call, defineCommand } from '../command';
import { CONNECTION, count, type Given, namesIn, type ProjectFlags } from '../flags';
import { LiveMonitor } from '../live-monitor';
import { crowded, snapshotTexts } from '../monitor-text';
import { openConnection } from '../named-queues';
import { counted } from '../table';

const FLAGS = {
  max: count('<count>', 'mark queues with more ready jobs than this, and exit with 1 if there are any'),
  connection: CONNECTION,
};

type MonitorCall = Call<Given<typeof FLAGS> & ProjectFlags>;

export const monitor = defineCommand({
  name: 'monitor',
  summary: 'show the queues and running jobs, live on a terminal',
  description:
    'On a terminal it is redrawn every two seconds: up and down select a queue, p pauses or resumes it (or all shown queues if ' +
    'none is selected), and q quits. Elsewhere, and with --json, it prints once.',
  examples: [
    ['onqueue monitor', 'all queues of the default connection'],
    ['onqueue monitor high,default', 'two queues'],
    ['onqueue monitor --max=1000 >/dev/null || alert', 'exits with 1 if a queue is too long'],
    ["onqueue monitor --json | jq '.queues[].oldestWait'", 'for a program'],
  ],
  words: ['[queue]', 'one queue or several, such as high,default (default: all that were ever used)'],
  flags: FLAGS,
  async run(call) {
    const { flags, output, session, words } = call;
    const { connection } = await openConnection(call);
    const queues = words[0] === undefined ? undefined : namesIn(words[0], 'queue');
    const { stdout, onKeys } = session.surroundings;
    const isLive = onKeys !== undefined && stdout.isTTY === true && !output.isJson;
    const snapshot = isLive
      ? await new LiveMonitor(session.surroundings, connection, { queues, max: flags.max }).run(onKeys)
      : await connection.snapshot({ queues });
    if (!isLive) print(call, snapshot!);
    const { max = Infinity } = flags;
    for (const { queue, ready } of snapshot === undefined ? [] : crowded(snapshot, max))
      call.fail(`${counted(ready, 'job')} in ${queue} of ${connection.name}: more than ${max} are ready.`);
  },
});

function print({ flags: { max = Infinity }, output }: MonitorCall, snapshot: Snapshot): void {
  const { summary, queues, running } = snapshotTexts(snapshot, { max });
  output.result(snapshot, summary, '', ...queues, ...(running.length > 0 ? ['', ...running] : []));
  if (snapshot.otherQueues > 0) output.note(`${counted(snapshot.otherQueues, 'more queue')}; name queues to see them.`);
}
