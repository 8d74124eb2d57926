import '../../../src/connections/built-in';
import { CapabilityError } from '../../../src/connections/errors';
import { NullConnection } from '../../../src/connections/null/driver';

describe('the null connection', () => {
  it('accepts every job and keeps none', async () => {
    const connection = new NullConnection('nowhere');
    await connection.push('mail', [{ payload: '{}' }, { payload: '{}', delay: 60 }]);
    expect(await connection.queues.counts('mail')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
    expect(await connection.queues.names()).toEqual([]);
  });

  it('names the connection, the missing capability, and the drivers that have it', async () => {
    const connection = new NullConnection('nowhere');
    const error = await connection.exchange().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CapabilityError);
    expect((error as CapabilityError).message).toBe(
      "Connection 'nowhere' cannot hand jobs to a worker: the driver 'null' lacks the capability 'reserve'. " +
        'Drivers that have it: redis, database, beanstalkd, sqs, memory.',
    );
    expect((error as CapabilityError).facts).toEqual({
      connection: 'nowhere',
      driver: 'null',
      capability: 'reserve',
      drivers: ['redis', 'database', 'beanstalkd', 'sqs', 'memory'],
    });
  });
});
