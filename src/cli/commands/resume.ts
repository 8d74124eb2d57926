/** `resume`: lets workers take jobs from paused queues again. */
import { defineCommand } from '../command';
import { names, on } from '../flags';
import { CONNECTION_WORD, openNamed } from '../named-queues';

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
