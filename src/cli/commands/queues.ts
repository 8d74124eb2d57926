/** `size`, `clear`, `pause`, `resume` and `limit`: how many jobs queues hold, and whether and how many of them workers may take. */
import { failedStoreOf } from '../../connections/application';
import { nearest, oneLine } from '../../base/text';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { defineCommand } from '../command';
import { count, FORCE, names, on, time } from '../flags';
import { defineList } from '../list';
import { CONNECTION_WORD, openNamed } from '../named-queues';
import { type Cell, counted, failures } from '../output';
import { fromLeft, showingProgress } from '../progress';

export const size = defineList({
  name: 'size',
  summary: 'show the sizes of the queues, and which are paused or limited',
  examples: [
    ['onqueue size', 'all queues of the default connection'],
    ['onqueue size --queue=high,default', 'two queues'],
    ['onqueue size --watch', 'redrawn every two seconds'],
    ['onqueue size redis --json', 'another connection, for a program'],
  ],
  words: CONNECTION_WORD,
  flags: { queue: names('queues to show, such as high,default (default: all that were ever used)') },
  async run(call) {
    const { manager, connection, driver, queues } = await openNamed(call);
    const sizeOf = async (queue: string) => {
      const { ready, delayed, reserved } = await connection.counts(queue);
      const failed = (await (failedStoreOf(driver, manager) ?? driver.buried)?.count(queue)) ?? 0;
      return { queue, ready, delayed, reserved, failed };
    };
    // Counts first: if the store is unreachable, the error should say that nothing was counted.
    const counts = await Promise.all((queues.length > 0 ? queues : [connection.defaultQueue]).map(sizeOf));
    const pauses = driver.control ? await connection.pauses() : [];
    const paused = new Map(pauses.map(({ queue, until }) => [queue, until?.toISOString()]));
    const limits = new Map(
      driver.control?.limits && (await connection.limits()).map(({ queue, running }) => [queue, running]),
    );
    if (queues.length === 0) {
      const others = new Set([...(await driver.queues.names()), ...paused.keys(), ...limits.keys()]);
      others.delete(connection.defaultQueue);
      counts.push(...(await Promise.all([...others].map(sizeOf))));
      counts.sort((a, b) => (a.queue < b.queue ? -1 : 1));
    }
    const { exactCounts } = driver.capabilities;
    const sizes = counts.map((each) => {
      const until = paused.get(each.queue);
      const limit = limits.get(each.queue);
      return {
        ...each,
        paused: paused.has(each.queue),
        ...(until !== undefined && { until }),
        ...(limit !== undefined && { limit }),
      };
    });
    call.output.result(exactCounts ? sizes : sizes.map((each) => ({ ...each, approximate: true })));
    if (!exactCounts && !call.output.isJson) {
      call.output.note(
        `The numbers of ready, delayed and reserved jobs are estimates by ${driver.driver}, some minutes old.`,
      );
    }
    const isAnyPaused = paused.size > 0;
    const isAnyLimited = limits.size > 0;
    const headings = ['queue', 'ready', 'delayed', 'reserved', 'failed'];
    if (isAnyPaused) headings.push('paused');
    if (isAnyLimited) headings.push('at most');
    const pauseOf = (isPaused: boolean, until: string | undefined): Cell =>
      isPaused ? { text: until === undefined ? 'yes' : `until ${until}`, tone: 'warning' } : '';
    const rows = sizes.map(({ until, limit, paused: isPaused, queue, ready, delayed, reserved, failed }) => [
      ...[queue, ready, delayed, reserved, failures(failed)],
      ...(isAnyPaused ? [pauseOf(isPaused, until)] : []),
      ...(isAnyLimited ? [limit === undefined ? '' : `${limit} running`] : []),
    ]);
    call.output.list(headings, rows);
  },
});

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
    const used = await driver.queues.names();
    const queues = call.flags.all === true ? new Set([connection.defaultQueue, ...used]) : queuesOrOwn;
    const paused: object[] = [];
    for (const queue of queues) {
      const changed = await connection.pause(queue, call.flags);
      const until = (await connection.pauses()).find((each) => each.queue === queue)?.until?.toISOString();
      paused.push({ connection: connection.name, queue, paused: true, changed, ...(until !== undefined && { until }) });
      call.output.line(pausedLine(queue, changed, until));
      const remark = unusedRemark(connection, queue, used, PAUSED);
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

export const limit = defineCommand({
  name: 'limit',
  summary: 'let only so many jobs of queues run at a time, over all workers',
  description:
    'The others wait. It applies to workers on all machines, including those started later, until it is changed; --none removes ' +
    'it. Running jobs go on. Without --running and --none, it lists the limits.',
  examples: [
    ['onqueue limit --queue=reports --running=5', 'at most 5 reports at a time'],
    ['onqueue limit --queue=reports --none', 'any number again'],
    ['onqueue limit redis --queue=reports --running=5', 'on another connection; also written redis:reports'],
    ['onqueue limit', 'list the limits of the default connection'],
  ],
  words: CONNECTION_WORD,
  flags: {
    queue: names("queues to limit, such as high,default (default: the connection's default queue)"),
    running: count('<count>', 'how many jobs of each queue may run at a time', 1),
    none: on('remove the limit', { conflicts: 'running' }),
  },
  async run(call) {
    const { flags, output } = call;
    const { connection, driver, queues, queuesOrOwn } = await openNamed(call);
    const { running } = flags;
    if (running === undefined && flags.none !== true) {
      const limits = (await connection.limits()).filter(({ queue }) => queues.length === 0 || queues.includes(queue));
      output.result(limits);
      if (limits.length === 0) return output.line(`No queue of ${connection.name} has a limit.`);
      return output.list(
        ['queue', 'at most'],
        limits.map(({ queue, running: most }) => [queue, `${most} running`]),
      );
    }
    const used = await driver.queues.names();
    for (const queue of queuesOrOwn) {
      await connection.limit(queue, running === undefined ? undefined : { running });
      output.line(
        running === undefined ? `${queue} has no limit.` : `At most ${counted(running, 'job')} of ${queue} at a time.`,
      );
      const remark = running === undefined ? undefined : unusedRemark(connection, queue, used, LIMITED);
      if (remark !== undefined) output.note(remark);
    }
    output.result(queuesOrOwn.map((queue) => ({ connection: connection.name, queue, running: running ?? null })));
  },
});

function pausedLine(queue: string, changed: boolean, until: string | undefined): string {
  if (until === undefined) return changed ? `Paused ${queue}.` : `${queue} was already paused.`;
  return changed ? `Paused ${queue} until ${until}.` : `${queue} was already paused; it now is until ${until}.`;
}

/** What was done to a queue, and the command that undoes it. */
type Done = readonly [what: string, undo: (queue: string) => string];

const PAUSED: Done = ['paused', (queue) => `resume ${queue}`];
const LIMITED: Done = ['limited', (queue) => `limit ${queue} --none`];

// A mistyped name would pause or limit nothing, without anybody noticing.
function unusedRemark(
  connection: QueueConnection,
  queue: string,
  used: readonly string[],
  [what, undo]: Done,
): string | undefined {
  if (queue === connection.defaultQueue || used.includes(queue)) return undefined;
  const [meant] = nearest(queue, used);
  const undoing = `onqueue ${undo(`${connection.name} --queue=${queue}`)}`;
  const question = meant === undefined ? '' : ` Did you mean ${meant}? To undo: ${undoing}`;
  return `The queue ${queue} of ${connection.name} has never had a job, as far as is known; it is ${what} all the same.${question}`;
}
