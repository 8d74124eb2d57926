/** `size`: how many jobs the queues hold. */
import { defineCommand } from '../command';
import { names } from '../flags';
import { CONNECTION_WORD, openNamed } from '../named-queues';

export const size = defineCommand({
  name: 'size',
  summary: 'show the sizes of the queues, and which are paused',
  examples: [
    ['onqueue size', 'all queues of the default connection'],
    ['onqueue size --queue=high,default', 'two queues'],
    ['onqueue size redis --json', 'another connection, for a program'],
  ],
  words: CONNECTION_WORD,
  flags: { queue: names('queues to show, such as high,default (default: all that were ever used)') },
  async run(call) {
    const { manager, connection, driver, queues } = await openNamed(call);
    const count = async (queue: string) => {
      const { ready, delayed, reserved } = await connection.counts(queue);
      const failed = (await (manager.failed.storeFor(driver) ?? driver.buried)?.count(queue)) ?? 0;
      return { queue, ready, delayed, reserved, failed };
    };
    // Counts first: if the store is unreachable, the error should say that nothing was counted.
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
      call.output.note(
        `The numbers of ready, delayed and reserved jobs are estimates by ${driver.driver}, some minutes old.`,
      );
    }
    const headings = ['queue', 'ready', 'delayed', 'reserved', 'failed', ...(paused.size > 0 ? ['paused'] : [])];
    const rows = sizes.map(({ until, ...each }) =>
      Object.values({ ...each, paused: until === undefined ? (each.paused ? 'yes' : '') : `until ${until}` }),
    );
    call.output.list(headings, rows);
  },
});
