import { SqsConnection, open, type ThreadData } from '../../../src/connections/sqs/connection';
import type { SqsConfig } from '../../../src/connections/sqs/driver';
import { contextOf, credentials, SqsWorld } from './open-sqs';
import { reserveFrom, settleIn } from '../../support/exchange';

const accessOf = (config: Partial<SqsConfig>) =>
  new SqsConnection({ driver: 'sqs', region: 'eu-west-1', credentials, ...config }, contextOf()).threadAccess;

describe('the data for a thread to reach the same queues', () => {
  it('lets it settle and renew, even if the connection has functions for its pushes', async () => {
    const world = await SqsWorld.start();
    const queue = world.createQueue('default');
    const connection = world.connect({ group: () => 'a', deduplicate: () => 'b' }, { deadline: 60 });
    await connection.push('default', [{ payload: '{"job":"probe","id":"a","attempts":0}' }]);
    const [job] = (await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 })).reservations;

    const thread = open(structuredClone(connection.threadAccess!.data) as ThreadData, 60);
    const { counters } = job!;
    expect(await thread.renew([job!], 60)).toEqual(['renewed']);
    expect(await settleIn(thread, [{ outcome: 'released', reservation: job!, delay: 0, counters }])).toEqual([
      'settled',
    ]);

    expect(queue.bodies).toEqual(['{"job":"probe","id":"a","attempts":1}']);
    expect(world.server.asked.at(-2)!.input).toMatchObject({ Entries: [{ MessageGroupId: 'a' }] });
    await thread.close();
    await world.stop();
  });

  it('is absent if a function gives the credentials or an agent makes the requests', () => {
    expect(accessOf({})).toBeDefined();
    expect(accessOf({ credentials: async () => credentials })).toBeUndefined();
    expect(accessOf({ options: { requestHandler: { handle: () => undefined } } })).toBeUndefined();
  });
});
