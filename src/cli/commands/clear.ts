/** `clear`: removes all jobs of queues. */
import { oneLine } from '../../base/plain-text';
import { defineCommand } from '../command';
import { FORCE, names, on } from '../flags';
import { CONNECTION_WORD, openNamed } from '../named-queues';
import { fromLeft, showingProgress } from '../progress';
import { counted } from '../table';

export const clear = defineCommand({
  name: 'clear',
  summary: 'remove all ready, delayed and reserved jobs of queues',
  description:
    'Failed jobs stay (see flush). A job that is running ends as lost. With NODE_ENV=production it asks first, and without ' +
    'a terminal it refuses unless --force is given.',
  examples: [
    ['onqueue clear', "the default connection's default queue"],
    ['onqueue clear redis --queue=high,default', 'two queues of another connection'],
    ['onqueue clear --queue=order-17 --forget', 'one that will not be used again'],
    ['onqueue clear --force', 'in a script, even in production'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to clear, such as high,default (default: the connection's default queue)"),
    forget: on('also forget the names of these queues, unless they have failed jobs'),
    force: FORCE,
  },
  async run(call) {
    const { connection, queuesOrOwn: queues } = await openNamed(call);
    const sizes = await Promise.all(queues.map((queue) => connection.size(queue)));
    const waiting = sizes.reduce((sum, each) => sum + each, 0);
    const which = `${queues.join(', ')} on ${connection.address} (${counted(waiting, 'job')})`;
    await call.session.confirm(`Clear ${which}`, call.flags.force);
    const cleared: { queue: string; cleared: number; forgotten?: boolean }[] = [];
    for (const queue of queues) {
      const left = fromLeft(() => connection.size(queue));
      const count = await showingProgress(call, `Clearing ${oneLine(queue)}`, () => connection.clear(queue), left);
      cleared.push({
        queue,
        cleared: count,
        ...(call.flags.forget === true && { forgotten: await connection.forget(queue) }),
      });
    }
    const lines = cleared.map(({ queue, cleared: count, forgotten }) => {
      const end =
        forgotten === undefined ? '' : forgotten ? ' It is forgotten.' : ' It was not known, or has failed jobs.';
      return `Removed ${counted(count, 'job')} from ${queue}.${end}`;
    });
    call.output.result(cleared, ...lines);
  },
});
