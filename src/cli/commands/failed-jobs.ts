/** `retry`, `forget`, `flush` and `prune`: what can be done with failed jobs. */
import type { Duration } from '../../job/duration';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { invalidOption } from '../errors';
import {
  checkChoice,
  actOnFailed,
  failedCount,
  type FailedFlags,
  FILTER_FLAGS,
  filterOf,
  openForFailed,
} from '../failed-flags';
import { count, type Flag, on, text } from '../flags';
import { counted } from '../table';

interface Range {
  readonly from: number;
  readonly to: number;
}

const range: Flag<Range> = {
  value: '<places>',
  help: 'those at these places of the list: 1-5, of one queue with --queue',
  read(value, flag) {
    const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(value) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (from >= 1 && to >= from) return { from, to };
    const remedy = 'Give two places of the list that onqueue failed shows, such as 1-5; 1 is the newest.';
    throw invalidOption(flag, value, remedy);
  },
};

export const retry = defineCommand({
  name: 'retry',
  summary: 'send failed jobs back to their queues, with all their tries',
  examples: [
    ['onqueue retry 0193a6c1-…', 'this one'],
    ['onqueue retry 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
    ['onqueue retry all', 'all that have failed until now'],
    ['onqueue retry --queue=mail --error=ECONNREFUSED', 'what an outage broke'],
    ['onqueue retry --range=1-5', 'the newest five, as onqueue failed lists them'],
  ],
  words: ['[ids...]', "ids, as onqueue failed lists them, or 'all'"],
  flags: { range, ...FILTER_FLAGS },
  async run(call) {
    const { flags, words } = call;
    const isAll = words.includes('all');
    const ids = isAll ? [] : words;
    if (flags.range !== undefined && words.length > 0) call.refuse('give ids, or --range: not both.');
    if (!isAll && flags.range === undefined) checkChoice(call, ids);
    const manager = await openForFailed(call);
    const { done: retried, unknown } = await actOnFailed(call, ids, {
      all: () => retryThose(call, manager, flags.range),
      one: (id) => manager.failed.retry(id, flags),
      unknown: (id) => `There is no failed job '${id}'; it may have been retried already.`,
    });
    call.output.result({ retried, unknown });
    call.output.line(`Sent ${counted(retried, 'failed job')} back to ${retried === 1 ? 'its queue' : 'their queues'}.`);
  },
});

function retryThose({ output, flags }: Call<FailedFlags>, manager: QueueManager, places?: Range): Promise<number> {
  const { failed } = manager;
  const filter = filterOf(flags);
  const left = (): Promise<number> => failedCount(manager, flags.queue);
  return output.counting('Sending failed jobs back', left, async () => {
    if (places === undefined) return failed.retry(filter ?? 'all');
    const jobs = await failed.list({ ...filter, offset: places.from - 1, limit: places.to - places.from + 1 });
    let retried = 0;
    for (const { id, queue, connection } of jobs) if (await failed.retry(id, { queue, connection })) retried += 1;
    return retried;
  });
}

export const forget = defineCommand({
  name: 'forget',
  summary: 'remove failed jobs for good',
  examples: [
    ['onqueue forget 0193a6c1-…', 'this one'],
    ['onqueue forget 0193a6c1-… --queue=mail', 'this one, where jobs of its id failed on several queues'],
    ['onqueue forget --name=SendMail --older-than=1d', 'all that fit'],
  ],
  words: ['[ids...]', 'ids, as onqueue failed lists them'],
  flags: FILTER_FLAGS,
  async run(call) {
    const { flags, words: ids } = call;
    checkChoice(call, ids);
    const { failed } = await openForFailed(call);
    const { done: forgotten, unknown } = await actOnFailed(call, ids, {
      all: () => failed.forget(filterOf(flags)!),
      one: (id) => failed.forget(id, flags),
      unknown: (id) => `There is no failed job '${id}'.`,
    });
    call.output.result({ forgotten, unknown });
    call.output.line(`Forgot ${counted(forgotten, 'failed job')}.`);
  },
});

const hours: Flag<Duration> = {
  value: '<count>',
  help: 'only those that failed more than so many hours ago',
  read(value, flag) {
    if (/^\d{1,6}(\.\d+)?$/.test(value)) return `${Number(value)}h`;
    throw invalidOption(flag, value, 'Give a number of hours.');
  },
};

export const flush = defineCommand({
  name: 'flush',
  summary: 'remove all failed jobs for good',
  description:
    'Under NODE_ENV=production it asks first, and where there is no terminal it refuses without --force. To keep the newest, see prune.',
  examples: [
    ['onqueue flush', 'all'],
    ['onqueue flush --queue=mail', 'those of one queue'],
    ['onqueue flush --hours=48', 'those that failed more than two days ago'],
  ],
  flags: {
    queue: text('<name>', 'only those of this queue'),
    hours,
    force: on('do not ask, also in production'),
  },
  async run(call) {
    const { queue, hours: olderThan, force } = call.flags;
    const manager = await openForFailed(call);
    const left = (): Promise<number> => failedCount(manager, queue);
    const which = queue === undefined ? '' : ` of the queue ${queue}`;
    const age = olderThan === undefined ? counted(await left(), 'job') : 'the older ones';
    await call.session.confirm(`Remove failed jobs${which} for good (${age})`, force);
    const flushed = await call.output.counting('Removing failed jobs', left, () =>
      olderThan === undefined ? manager.failed.flush(queue) : manager.failed.prune({ olderThan, queue }),
    );
    call.output.result({ flushed });
    call.output.line(`Removed ${counted(flushed, 'failed job')}.`);
  },
});

export const prune = defineCommand({
  name: 'prune',
  summary: 'remove old failed jobs for good',
  description:
    'Of each queue workers keep the newest 10,000 (`failed: { keep }`); nothing else ever removes them: run it daily.',
  examples: [
    ['onqueue prune --older-than=30d', 'what failed more than 30 days ago'],
    ['onqueue prune --keep=1000', 'all but the newest 1000'],
    ['onqueue prune --queue=mail --keep=100', 'of one queue all but the newest 100'],
  ],
  flags: { keep: count('<count>', 'all but so many of the newest, of each store'), ...FILTER_FLAGS },
  async run(call) {
    const { olderThan, keep, queue, connection, name, error } = call.flags;
    if (olderThan === undefined && keep === undefined) {
      call.refuse('say which: --older-than=30d, --keep=1000, or both. (onqueue flush removes all.)');
    }
    const manager = await openForFailed(call);
    const left = (): Promise<number> => failedCount(manager, queue);
    const pruned = await call.output.counting('Removing failed jobs', left, () =>
      manager.failed.prune({ olderThan, keep, queue, connection, name, error }),
    );
    call.output.result({ pruned });
    call.output.line(`Removed ${counted(pruned, 'failed job')}.`);
  },
});
