import { type Ties, uniqueKey, withTies } from '../../../src/payload/ties';
import { watchedApplication } from '../../support/watched-application';

const ties: Ties = { unique: { key: uniqueKey('Mail', 'ada'), until: 'end' } };

const text = (id: string): string =>
  withTies(`{"displayName":"Mail","job":"onqueue","data":{},"id":"${id}","attempts":0}`, ties);

it('a failed unique job that another connection keeps asks for its key on the connection it came from', async () => {
  const { manager, watched } = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' } },
  });
  const { failed } = manager;
  const entry = { id: 'a', connection: 'other', queue: 'mails', name: 'Mail', exception: 'Error: a', attempts: 1 };
  await watched('main').failed.put({ ...entry, payload: Buffer.from(text('a')) });
  await watched('other').push('mails', [{ payload: text('b'), ties }]);

  await expect(failed.retry('a')).rejects.toMatchObject({ code: 'E_UNIQUE_HELD', facts: { id: 'a', holder: 'b' } });
  expect(await failed.get('a')).toMatchObject({ id: 'a' });

  await watched('other').queues.clear('mails');
  expect(await failed.retry('a')).toBe(true);
  expect(await failed.get('a')).toBeUndefined();
  expect(await watched('other').push('mails', [{ payload: text('c'), ties }])).toEqual([{ duplicate: 'a' }]);
});
