/** `pause` and `resume`: keeps workers from taking jobs from queues, and lets them again. */
import { nearest } from '../../base/nearest';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { defineCommand } from '../command';
import { names, on, time } from '../flags';
import { CONNECTION_WORD, openNamed } from '../named-queues';

export const pause = defineCommand({
  name: 'pause',
  summary: 'stop workers from taking jobs from queues, for a time or until resumed',
  description:
    'Running jobs go on, and dispatched jobs wait. It applies to workers on all machines, including those started later. ' +
    'onqueue size shows which queues are paused, and until when.',
  examples: [
    ['onqueue pause', "the default connection's default queue"],
    ['onqueue pause --queue=high,default', 'two queues'],
    ['onqueue pause --for=10m', 'resumed automatically after 10 minutes'],
    ['onqueue pause --all', 'all queues of the connection that were ever used'],
    ['onqueue pause redis --queue=high', 'on another connection; also written redis:high'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to pause, such as high,default (default: the connection's default queue)"),
    all: on('all queues of the connection that were ever used, and its default queue'),
    for: time('how long, such as 30s or 10m (default: until resumed)', { isShort: true }),
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

export const resume = defineCommand({
  name: 'resume',
  // Laravel's name for it.
  alias: 'continue',
  summary: 'let workers take jobs from paused queues again',
  description: 'onqueue size shows which queues are paused. It is not an error if a queue is not paused.',
  examples: [
    ['onqueue resume', "the default connection's default queue"],
    ['onqueue resume --queue=high,default', 'two queues'],
    ['onqueue resume --all', 'all paused queues of the connection'],
    ['onqueue resume redis --queue=high', 'on another connection; also written redis:high'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to resume, such as high,default (default: the connection's default queue)"),
    all: on('all paused queues of the connection'),
  },
  async run(call) {
    const { connection, queuesOrOwn } = await openNamed(call);
    const resumed: object[] = [];
    for (const queue of call.flags.all === true ? await connection.pausedQueues() : queuesOrOwn) {
      const changed = await connection.resume(queue);
      resumed.push({ connection: connection.name, queue, paused: false, changed });
      call.output.line(changed ? `Resumed ${queue}.` : `${queue} was not paused.`);
    }
    call.output.result(resumed);
    if (resumed.length === 0) call.output.line(`No queue of ${connection.name} is paused.`);
  },
});

function pausedLine(queue: string, changed: boolean, until: string | undefined): string {
  if (until === undefined) return changed ? `Paused ${queue}.` : `${queue} was already paused.`;
  return changed ? `Paused ${queue} until ${until}.` : `${queue} was already paused; it now is until ${until}.`;
}

// A mistyped name would pause nothing, without anybody noticing.
function unusedRemark(connection: QueueConnection, queue: string, used: readonly string[]): string | undefined {
  if (queue === connection.defaultQueue || used.includes(queue)) return undefined;
  const [meant] = nearest(queue, used);
  const question =
    meant === undefined ? '' : ` Did you mean ${meant}? To undo: onqueue resume ${connection.name} --queue=${queue}`;
  return `The queue ${queue} of ${connection.name} has never had a job, as far as is known; it is paused all the same.${question}`;
}
