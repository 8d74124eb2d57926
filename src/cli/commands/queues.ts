/** `size`, `clear`, `pause` and `resume`: what can be done to whole queues. */
import { nearest } from '../../base/nearest';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { defineCommand } from '../command';
import { names, on, time } from '../flags';
import { CONNECTION_WORD, openNamed, queuesOrOwn } from '../named-queues';
import { counted } from '../table';

export const size = defineCommand({
  name: 'size',
  summary: 'show how many jobs the queues hold, and which are paused',
  examples: [
    ['onqueue size', 'all queues of the default connection'],
    ['onqueue size --queue=high,default', 'these two'],
    ['onqueue size redis --json', 'of another connection, for a program'],
  ],
  words: CONNECTION_WORD,
  flags: { queue: names('queues to show: high,default (default: all that were ever used)') },
  async run(call) {
    const { manager, connection, queues } = await openNamed(call);
    const driver = manager.driver(connection.name);
    const count = async (queue: string) => {
      const { ready, delayed, reserved } = await connection.counts(queue);
      const failed = (await (manager.failed.storeFor(driver) ?? driver.buried)?.count(queue)) ?? 0;
      return { queue, ready, delayed, reserved, failed };
    };
    // Count first: if the store is away, the error should say that nothing was counted.
    const counts = await Promise.all((queues.length > 0 ? queues : [connection.defaultQueue]).map(count));
    const pauses = driver.capabilities.control ? await connection.pauses() : [];
    const paused = new Map(pauses.map(({ queue, until }) => [queue, until?.toISOString()]));
    if (queues.length === 0) {
      const others = new Set([...(await driver.queues()), ...paused.keys()]);
      others.delete(connection.defaultQueue);
      counts.push(...(await Promise.all([...others].map(count))));
      counts.sort((a, b) => (a.queue < b.queue ? -1 : 1));
    }
    const { exactCounts } = driver.capabilities;
    const sizes = counts.map((each) => {
      const until = paused.get(each.queue);
      return { ...each, paused: paused.has(each.queue), ...(until !== undefined && { until }) };
    });
    call.output.result(exactCounts ? sizes : sizes.map((each) => ({ ...each, approximate: true })));
    if (!exactCounts && !call.output.isJson) {
      call.output.note(`What is ready, delayed and reserved is an estimate of ${driver.driver}, some minutes old.`);
    }
    const headings = ['queue', 'ready', 'delayed', 'reserved', 'failed', ...(paused.size > 0 ? ['paused'] : [])];
    const rows = sizes.map(({ until, ...each }) =>
      Object.values({ ...each, paused: until === undefined ? (each.paused ? 'yes' : '') : `until ${until}` }),
    );
    call.output.table(headings, rows);
  },
});

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
    force: on('do not ask, also in production'),
  },
  async run(call) {
    const named = await openNamed(call);
    const { connection } = named;
    const queues = queuesOrOwn(named);
    const sizes = await Promise.all(queues.map((queue) => connection.size(queue)));
    const all = counted(
      sizes.reduce((sum, each) => sum + each, 0),
      'job',
    );
    await call.session.confirm(`Clear ${queues.join(', ')} on ${connection.address} (${all})`, call.flags.force);
    const cleared: { queue: string; cleared: number }[] = [];
    for (const queue of queues) {
      const left = (): Promise<number> => connection.size(queue);
      const count = await call.output.counting(`Clearing ${queue}`, left, () => connection.clear(queue));
      cleared.push({ queue, cleared: count });
    }
    call.output.result(cleared);
    for (const each of cleared) call.output.line(`Removed ${counted(each.cleared, 'job')} from ${each.queue}.`);
  },
});

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
    const named = await openNamed(call);
    const { manager, connection } = named;
    const used = await manager.driver(connection.name).queues();
    const queues = call.flags.all === true ? new Set([connection.defaultQueue, ...used]) : queuesOrOwn(named);
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

export const resume = defineCommand({
  name: 'resume',
  // Laravel's name for it.
  alias: 'continue',
  summary: 'let workers take jobs from paused queues again',
  description: 'size shows which queues are paused. A queue that is not paused is left as it is, and is no error.',
  examples: [
    ['onqueue resume', "the default connection's own queue"],
    ['onqueue resume --queue=high,default', 'these two'],
    ['onqueue resume --all', 'whatever is paused on the connection'],
    ['onqueue resume redis --queue=high', 'on another connection; also written redis:high'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to resume: high,default (default: the connection's own)"),
    all: on('all queues of the connection that are paused'),
  },
  async run(call) {
    const named = await openNamed(call);
    const { connection } = named;
    const resumed: object[] = [];
    for (const queue of call.flags.all === true ? await connection.pausedQueues() : queuesOrOwn(named)) {
      const changed = await connection.resume(queue);
      resumed.push({ connection: connection.name, queue, paused: false, changed });
      call.output.line(changed ? `Resumed ${queue}.` : `${queue} was not paused.`);
    }
    call.output.result(resumed);
    if (resumed.length === 0) call.output.line(`No queue of ${connection.name} is paused.`);
  },
});
