import { Keys, typeOf } from '../../../src/connections/redis/keys';

describe('the names of keys', () => {
  it('are those of Laravel for the jobs of a queue, with our own beside them', () => {
    const { client, once, ...keys } = new Keys('queues:', false).queue('mail');
    expect({ ...keys, client: client('abc'), once: once('nightly') }).toEqual({
      reasons: 'queues::cancelled:reasons',
      ready: 'queues:mail',
      delayed: 'queues:mail:delayed',
      reserved: 'queues:mail:reserved',
      notify: 'queues:mail:notify',
      failed: 'queues:mail:failed',
      failedJobs: 'queues:mail:failed:jobs',
      control: 'queues::control',
      cancelled: 'queues::cancelled',
      unique: 'queues::unique',
      lanes: 'queues::lanes',
      held: 'queues::held',
      batches: 'queues::batches',
      begunBatches: 'queues::batches:begun',
      cancelledBatches: 'queues::batches:cancelled',
      client: 'queues:mail:client:abc',
      once: 'queues::once:nightly',
    });
  });

  it('share a slot in a cluster, because the name of the queue is their hash tag', () => {
    const { client, once, ...keys } = new Keys('queues:', true).queue('mail');
    const names = [...Object.values(keys), client('abc'), once('nightly')];
    expect(names.map((name) => name.startsWith('queues:{mail}'))).toEqual(names.map(() => true));
  });

  it('for records and sums cannot collide with a queue, and share a slot in a cluster', () => {
    const namesOf = (keys: Keys) => [...Object.values(keys.records('worker')), keys.sum('m1'), keys.added('source')];
    expect(namesOf(new Keys('queues:', false))).toEqual([
      'queues::records:worker',
      'queues::records:worker:ends',
      'queues::sums:m1',
      'queues::added:source',
    ]);
    const inCluster = namesOf(new Keys('queues:', true));
    expect(inCluster.map(typeOf)).toEqual(['hash', 'zset', 'hash', 'string']);
    expect(inCluster).toEqual([
      'queues::{records}:worker',
      'queues::{records}:worker:ends',
      'queues::{sums}:m1',
      'queues::added:{sums}:source',
    ]);
  });

  it('include the channel of a record', () => {
    expect(new Keys('queues:', false).recordChannel('results', 'a')).toBe('queues::records:results:a');
    expect(new Keys('queues:', true).recordChannel('results', 'a')).toBe('queues::{records}:results:a');
  });

  it('that belong to no queue cannot collide with a queue', () => {
    const keys = new Keys('queues:', false);
    expect([keys.names, keys.ordered, keys.control, keys.lock('report')]).toEqual([
      'queues::queues',
      'queues::ordered',
      'queues::control',
      'queues::lock:report',
    ]);
  });
});
