/** `clear`: removes all jobs of queues. */
import { oneLine } from '../../base/plain-text';
import { defineCommand } from '../command';
import { FORCE, names } from '../flags';
import { CONNECTION_WORD, openNamed } from '../named-queues';
import { fromLeft, showingProgress } from '../progress';
import { counted } from '../table';

export const clear = defineCommand({
  name: 'clear',
  summary: 'remove all jobs of queues: ready, delayed and reserved ones',
  description:
    'Failed jobs stay (see flush). A job that runs meanwhile ends as lost. Under NODE_ENV=production it asks first, and where ' +
    'there is no terminal it refuses without --force.',
  examples: [
    ['onqueue clear', "the default connection's own queue"],
    ['onqueue clear redis --queue=high,default', 'these two of another connection'],
    ['onqueue clear --force', 'in a script, also in production'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to clear: high,default (default: the connection's own)"),
    force: FORCE,
  },
  async run(call) {
    const { connection, queuesOrOwn: queues } = await openNamed(call);
    const sizes = await Promise.all(queues.map((queue) => connection.size(queue)));
    const waiting = sizes.reduce((sum, each) => sum + each, 0);
    const which = `${queues.join(', ')} on ${connection.address} (${counted(waiting, 'job')})`;
    await call.session.confirm(`Clear ${which}`, call.flags.force);
    const cleared: { queue: string; cleared: number }[] = [];
    for (const queue of queues) {
      const left = fromLeft(() => connection.size(queue));
      const count = await showingProgress(call, `Clearing ${oneLine(queue)}`, () => connection.clear(queue), left);
      cleared.push({ queue, cleared: count });
    }
    const lines = cleared.map((each) => `Removed ${counted(each.cleared, 'job')} from ${each.queue}.`);
    call.output.result(cleared, ...lines);
  },
});
