/** `pause`: keeps workers from taking jobs of queues. */
import { nearest } from '../../base/nearest';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { defineCommand } from '../command';
import { names, on, time } from '../flags';
import { CONNECTION_WORD, openNamed } from '../named-queues';

export const pause = defineCommand({
  name: 'pause',
  summary: 'let no worker take jobs from queues, for a time or until they are resumed',
  description:
    'Jobs that run go on, and what is dispatched waits. It holds for the workers of all machines, also for those that are ' +
    'started later. size shows which queues are paused, and until when.',
  examples: [
    ['onqueue pause', "the default connection's own queue"],
    ['onqueue pause --queue=high,default', 'these two'],
    ['onqueue pause --for=10m', 'it goes on by itself then'],
    ['onqueue pause --all', 'all queues of the connection that were ever used'],
    ['onqueue pause redis --queue=high', 'on another connection; also written redis:high'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to pause: high,default (default: the connection's own)"),
    all: on('all queues of the connection that were ever used, and its own'),
    for: time('how long: 30s, 10m (default: until they are resumed)', { isShort: true }),
  },
  async run(call) {
    const { connection, driver, queuesOrOwn } = await openNamed(call);
    const used = await driver.queues();
    const queues = call.flags.all === true ? new Set([connection.defaultQueue, ...used]) : queuesOrOwn;
    const paused: object[] = [];
    for (const queue of queues) {
      const changed = await connection.pause(queue, call.flags);
      const until = (await connection.pauses()).find((each) => each.queue === queue)?.until?.toISOString();
      paused.push({ connection: connection.name, queue, paused: true, changed, ...(until !== undefined && { until }) });
      call.output.line(pausedLine(queue, changed, until));
      const remark = unusedRemark(connection, queue, used);
      if (remark !== undefined) call.output.note(remark);
    }
    call.output.result(paused);
  },
});

function pausedLine(queue: string, changed: boolean, until: string | undefined): string {
  if (until === undefined) return changed ? `Paused ${queue}.` : `${queue} was paused already.`;
  return changed ? `Paused ${queue} until ${until}.` : `${queue} was paused already; now it is until ${until}.`;
}

// A mistyped name would pause nothing, and nobody would notice.
function unusedRemark(connection: QueueConnection, queue: string, used: readonly string[]): string | undefined {
  if (queue === connection.defaultQueue || used.includes(queue)) return undefined;
  const [meant] = nearest(queue, used);
  const question =
    meant === undefined ? '' : ` Did you mean ${meant}? Then: onqueue resume ${connection.name} --queue=${queue}`;
  return `No job is known to have been on a queue ${queue} of ${connection.name} yet; it is paused all the same.${question}`;
}
