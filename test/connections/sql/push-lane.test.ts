/** Jobs in line for a database server that takes none. */
import type { Holders } from '../../../src/connections/sql/dialect';
import { PushLane } from '../../../src/connections/sql/push-lane';
import { QueueUnavailableError } from '../../../src/connections/errors';

const job = { queue: 'default', payload: '{}', unique: false, delay: 0 } as never;

const away = (more: object): QueueUnavailableError =>
  new QueueUnavailableError({ connection: 'main', store: 'PostgreSQL', address: 'a', consequence: 'none', ...more });

/** How 250 pushes of one turn end, and how often the server was asked. */
async function push(answer: Error): Promise<{ readonly asked: number; readonly ends: readonly unknown[] }> {
  let asked = 0;
  const lane = new PushLane('main', () => {
    asked += 1;
    return Promise.reject(answer);
  });
  const pushes = Array.from({ length: 250 }, (_, index) => lane.push([job], `job ${index} was not queued`));
  const ends = await Promise.allSettled(pushes);
  return { asked, ends };
}

it('who stood in line for a server that did not answer by the deadline waits for no further one', async () => {
  const { asked, ends } = await push(away({ deadline: 5, uncertain: true }));

  expect(asked).toBe(1);
  expect(ends[0]).toMatchObject({ reason: { facts: { uncertain: true, consequence: 'job 0 was not queued' } } });
  expect(ends[249]).toMatchObject({
    reason: { facts: { uncertain: false, deadline: 5, consequence: 'job 249 was not queued' } },
  });
});

it('a server that takes nothing until the deadline is not asked for each job by itself', async () => {
  expect((await push(away({ deadline: 5, refused: true }))).asked).toBe(1);
});

it('who came while the server was silent is asked for by a call of its own', async () => {
  let fail!: (error: Error) => void;
  const silence = new Promise<undefined>((_, reject) => (fail = reject));
  const sent: number[] = [];
  const lane = new PushLane('main', (jobs) => (sent.push(jobs.length) === 1 ? silence : Promise.resolve(undefined)));
  const first = lane.push([job], 'the job was not queued');
  await Promise.resolve();
  const second = lane.push([job], 'the job was not queued');
  fail(away({ deadline: 5 }));

  await expect(first).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
  await second;
  expect(sent).toEqual([1, 1]);
});

it('of what travels together each is told who holds the keys of its own jobs', async () => {
  const holders: Holders = new Map<number, { duplicate: string } | { replaced: string }>([
    [1, { duplicate: 'x' }],
    [3, { replaced: 'y' }],
  ]);
  const sent: number[] = [];
  const lane = new PushLane('main', async (jobs) => {
    sent.push(jobs.length);
    return holders;
  });
  const pushes = [[job], [job], [job, job], [job]].map((jobs) => lane.pushAll(jobs.length, [jobs]));

  const [none, x, y] = [undefined, [{ duplicate: 'x' }], ['queued', { replaced: 'y' }]];
  expect(await Promise.all(pushes)).toEqual([none, x, y, none]);
  expect(sent).toEqual([5]);
});
