/** `cancel`: keeps jobs from running, or tells running ones to stop. */
import { oneLine } from '../../base/plain-text';
import type { CancelResult } from '../../connections/contract';
import { defineCommand } from '../command';
import { CONNECTION, text } from '../flags';
import { openConnection } from '../named-queues';

const MEANING: Readonly<Record<Exclude<CancelResult, 'unknown'>, string>> = {
  removed: 'it was waiting, and has been removed',
  signalled: 'it is running, and was told to stop',
  marked: 'it was not found, and will end as cancelled when a worker takes it',
};

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'keep jobs from running, or tell running ones to stop',
  description:
    'A waiting job is removed. A running one is told to stop within a second: its signal aborts. Failed jobs ' +
    'stay (see forget). The exit code is 1 if an id is unknown; the others are cancelled all the same.',
  examples: [
    ['onqueue cancel 0193a6c1-…', 'a job of the default connection'],
    ['onqueue cancel --queue=mail 0193a6c1-…', 'faster if many queues are in use'],
    ["onqueue cancel --reason='wrong address' 0193a6c1-…", 'tell the job, the cancelled hook and the log why'],
    ['onqueue cancel --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: ['<ids...>', 'ids, as returned by dispatch and shown in log lines'],
  flags: {
    queue: text('<name>', 'their queue (default: searches all queues of the connection)'),
    reason: text('<text>', 'the reason, in one line'),
    connection: CONNECTION,
  },
  async run(call) {
    const { flags, output } = call;
    const { connection } = await openConnection(call);
    const results: { id: string; result: CancelResult }[] = [];
    for (const id of new Set(call.words)) {
      const result = await connection.cancel(id, flags);
      results.push({ id, result });
      if (result === 'unknown') {
        const where = [`on ${connection.name}`, ...(flags.queue === undefined ? [] : [`queue ${flags.queue}`])];
        call.fail(`There is no job '${id}' ${where.join(', ')}: it has ended, or never existed.`);
      } else output.line(`${oneLine(id)}  ${result}: ${MEANING[result]}`);
    }
    output.result(results);
  },
});
