import type { SqsConnection } from '../../../src/connections/sqs/connection';
import { Job } from '../../../src/job/job';
import { registry } from '../../../src/job/registry';
import type { Diagnosis } from '../../../src/connections/contract';
import { SqsWorld } from './open-sqs';

const redrive = (maxReceiveCount: number): Record<string, string> => ({
  RedrivePolicy: JSON.stringify({ maxReceiveCount, deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:000000000000:dead' }),
});

@Job({ tries: 5, maxCrashes: 6 })
class Stubborn extends Job {
  handle(): void {}
}

const { tries = 0, maxCrashes = 0 } = registry().definitionOf(Stubborn)!.options;

const world = new SqsWorld().forTests();

async function diagnosed(attributes: Record<string, string>, queue = 'default'): Promise<readonly Diagnosis[]> {
  world.createQueue(queue, attributes);
  const connection: SqsConnection = world.connect({}, { queue, manager: { registry: registry() } });
  return connection.diagnose();
}

const warnings = (lines: readonly Diagnosis[]): readonly string[] =>
  lines.filter(({ level }) => level === 'warning').map(({ message }) => message);

it('reports the approximate counts of a queue', async () => {
  const connection = world.connect();
  world.createQueue('default');
  await connection.push('default', [{ payload: '{"job":"a"}' }, { payload: '{"job":"b"}', delay: 60 }]);

  expect(await connection.diagnose()).toEqual([
    { level: 'ok', subject: 'default', message: 'standard; about 1 ready, 1 delayed, 0 reserved' },
  ]);
});

it('reports a missing queue and all queues that were used', async () => {
  world.createQueue('mail');
  const connection = world.connect();
  await connection.push('mail', [{ payload: '{"job":"a"}' }]);

  expect(await connection.diagnose()).toMatchObject([
    { level: 'error', subject: 'default', message: expect.stringContaining('aws sqs create-queue') },
    { level: 'ok', subject: 'mail' },
  ]);
});

it.each([
  ['default', maxCrashes, [expect.stringContaining('a job fails as poison at its delivery 7')]],
  ['default', maxCrashes + 1, []],
  ['orders.fifo', tries - 1, [expect.stringContaining('jobs here have up to 5 tries')]],
  ['orders.fifo', tries, []],
])('warns if SQS moves jobs of %s away after %d deliveries', async (queue, most, expected) => {
  expect(warnings(await diagnosed(redrive(most), queue))).toEqual(expected);
});

it('warns of a short retention time, and of a queue that accepts only smaller jobs', async () => {
  const lines = await diagnosed({ MessageRetentionPeriod: '86400', MaximumMessageSize: '262144' });

  expect(warnings(lines)).toEqual([
    expect.stringContaining('throws away what has waited for 1 day.'),
    expect.stringContaining('takes 262144 bytes'),
  ]);
});
