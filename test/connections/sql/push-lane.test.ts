/** Jobs waiting to be pushed to a database server that accepts none. */
import type { Database } from '../../../src/connections/sql/database';
import type { Holders, QueuedJob } from '../../../src/connections/sql/dialect';
import { PushLane } from '../../../src/connections/sql/push';
import { QueueUnavailableError } from '../../../src/connections/errors';

const job = { queue: 'default', payload: '{}', unique: false, delay: 0 } as never;

const away = (more: object): QueueUnavailableError =>
  new QueueUnavailableError({ connection: 'main', store: 'PostgreSQL', address: 'a', consequence: 'none', ...more });

/** A lane to a database that answers calls so. */
function laneTo(answer: (jobs: readonly QueuedJob[]) => Promise<Holders | undefined>, pushedPage?: number): PushLane {
  const dialect = { pushedPage, jobs: { push: (jobs: readonly QueuedJob[]) => jobs } };
  const run = (_purpose: object, work: () => readonly QueuedJob[]) => answer(work());
  return new PushLane({ name: 'main', dialect, run, wrote: () => undefined } as unknown as Database);
}

/** The results of 250 pushes of one turn, and the number of calls to the server. */
async function push(answer: Error): Promise<{ readonly asked: number; readonly ends: readonly unknown[] }> {
  let asked = 0;
  const lane = laneTo(() => {
    asked += 1;
    return Promise.reject(answer);
  });
  const pushes = Array.from({ length: 250 }, (_, index) => lane.push([job], `job ${index} was not queued`));
  const ends = await Promise.allSettled(pushes);
  return { asked, ends };
}

it('waiting pushes fail together with the call that got no answer within the deadline', async () => {
  const { asked, ends } = await push(away({ deadline: 60, uncertain: true }));

  expect(asked).toBe(1);
  expect(ends[0]).toMatchObject({ reason: { facts: { uncertain: true, consequence: 'job 0 was not queued' } } });
  expect(ends[249]).toMatchObject({
    reason: { facts: { uncertain: false, deadline: 60, consequence: 'job 249 was not queued' } },
  });
});

it('waiting pushes are not tried one by one when the server refused a call until the deadline', async () => {
  expect((await push(away({ deadline: 60, refused: true }))).asked).toBe(1);
});

it('a push that came while the server was silent gets a call of its own', async () => {
  let fail!: (error: Error) => void;
  const silence = new Promise<undefined>((_, reject) => (fail = reject));
  const sent: number[] = [];
  const lane = laneTo((jobs) => (sent.push(jobs.length) === 1 ? silence : Promise.resolve(undefined)));
  const first = lane.push([job], 'the job was not queued');
  await Promise.resolve();
  const second = lane.push([job], 'the job was not queued');
  fail(away({ deadline: 60 }));

  await expect(first).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
  await second;
  expect(sent).toEqual([1, 1]);
});

it('each of several pushes in one call gets the results of its own jobs', async () => {
  const holders: Holders = new Map<number, { duplicate: string } | { replaced: string }>([
    [1, { duplicate: 'x' }],
    [3, { replaced: 'y' }],
  ]);
  const sent: number[] = [];
  const lane = laneTo(async (jobs) => {
    sent.push(jobs.length);
    return holders;
  });
  const pushes = [[job], [job], [job, job], [job]].map((jobs) => lane.pushAll(jobs.length, [jobs]));

  const [none, x, y] = [undefined, [{ duplicate: 'x' }], ['queued', { replaced: 'y' }]];
  expect(await Promise.all(pushes)).toEqual([none, x, y, none]);
  expect(sent).toEqual([5]);
});

it('as many jobs travel in a call as the database takes at once', async () => {
  const sent: number[] = [];
  const lane = laneTo(async (jobs) => {
    sent.push(jobs.length);
    return undefined;
  }, 200);

  await Promise.all(Array.from({ length: 250 }, () => lane.push([job], 'the job was not queued')));

  expect(sent).toEqual([200, 50]);
});
