/** `cancel`: keeps jobs from running, or tells those that run to stop. */
import type { CancelResult } from '../../connections/control';
import { defineCommand } from '../command';
import { CONNECTION, text } from '../flags';
import { noteMemory } from '../named-queues';

const MEANING: Readonly<Record<Exclude<CancelResult, 'unknown'>, string>> = {
  removed: 'it waited, and is gone',
  signalled: 'it is running, and is told to stop',
  marked: 'it was not found at once, and ends as cancelled when a worker meets it',
};

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'keep jobs from running, or tell those that run to stop',
  description:
    'A job that waits is removed. One that runs is told to stop within a second: its signal aborts. Failed jobs ' +
    'stay (see forget). The exit code is 1 when one of the ids is not known; the others are cancelled all the same.',
  examples: [
    ['onqueue cancel 0193a6c1-…', 'this one, of the default connection'],
    ['onqueue cancel --queue=mail 0193a6c1-…', 'faster where many queues are in use'],
    ["onqueue cancel --reason='wrong address' 0193a6c1-…", 'the job, the cancelled hook and the log line say why'],
    ['onqueue cancel --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: ['<ids...>', 'ids, as dispatch gives them and log lines show them'],
  flags: {
    queue: text('<name>', 'where they are (default: all queues of the connection are looked at)'),
    reason: text('<text>', 'why, in one line, for those who hear of it'),
    connection: CONNECTION,
  },
  async run(call) {
    const { flags, output } = call;
    const manager = await call.open();
    const connection = manager.connection(flags.connection);
    noteMemory(call, manager, [flags.connection]);
    const results: { id: string; result: CancelResult }[] = [];
    for (const id of new Set(call.words)) {
      const result = await connection.cancel(id, flags);
      results.push({ id, result });
      if (result === 'unknown') {
        const where = [`on ${connection.name}`, ...(flags.queue === undefined ? [] : [`queue ${flags.queue}`])];
        call.fail(`There is no job '${id}' ${where.join(', ')}: it has ended, or was never there.`);
      } else output.line(`${id}  ${result}: ${MEANING[result]}`);
    }
    output.result(results);
  },
});
