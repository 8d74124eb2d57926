/** Waiting for a job that another process runs: the store announces its end, or a look finds it. */
import { MemoryStore } from '../../src/connections/memory/store';
import type { Connection, Reservation } from '../../src/connections/contract';
import { connectMemory } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import { elapse, testApplication, until, type TestApplication } from '../support/application';
import { reserveFrom, settleIn } from '../support/exchange';

@Job({ keepResult: '1h' })
class Gives extends Job {
  handle(): void {}
}

@Job()
class Plain extends Job {
  handle(): void {}
}

let application: TestApplication;
let other: Connection;
let id: string;
let reservation: Reservation;
let result: Promise<unknown>;
let isThere: boolean;

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

/** The job runs in another process, and this one waits for it. */
async function wait(job: Gives | Plain): Promise<void> {
  const shared = connectMemory({ driver: 'memory' }, { name: 'memory', clock: application.clock });
  other = shared.duplicate();
  application.manager.addConnector('memory', () => shared);
  id = await application.bus.dispatch(job);
  [reservation] = (await reserveFrom(other, { queues: ['default'], limit: 1, lease: 3600 })).reservations as [
    Reservation,
  ];
  isThere = false;
  result = application.manager.connection().result(id, { within: '1h' });
  result.then(
    () => (isThere = true),
    () => undefined,
  );
}

const end = () => settleIn(other, [{ outcome: 'completed', reservation }]);
const keep = () => {
  const value = JSON.stringify({ kind: 'completed', job: 'Gives', command: 'it', types: {} });
  return other.records!.wake!.put({ kind: 'results', id, value }, 60);
};

it('a waiting result() is woken by the store and looks at once', async () => {
  await wait(new Gives());
  await elapse(application.clock, 30);
  await end();
  const { clock } = application;
  const before = clock.now();

  await keep();
  await until(clock, () => isThere);

  expect(await result).toBe('it');
  expect(clock.now()).toBe(before);
});

it('a waiting result() polls closely once the result is written, which is just before the end', async () => {
  await wait(new Gives());
  await elapse(application.clock, 30);
  await keep();
  await application.clock.advance('5ms');
  expect(isThere).toBe(false);
  await end();

  await application.clock.advance('20ms');

  expect(isThere).toBe(true);
});

it('a waiting result() also looks if it is not woken', async () => {
  await wait(new Gives());
  await elapse(application.clock, 30);
  await keep();
  await elapse(application.clock, 30);
  await end();

  await application.clock.advance('2s');

  expect(await result).toBe('it');
});

it.each([
  ['at most two seconds late', '30s', '2s'],
  ['at most half a second late in the first second', '1s', '500ms'],
] as const)('the end of a job without a result is noticed %s', async (_, waited, late) => {
  await wait(new Plain());
  await application.clock.advance(waited);
  await end();

  await application.clock.advance(late);

  expect(isThere).toBe(true);
});

it.each([
  ['rarely if its class promises a result, which the store announces', Gives, 4],
  ['often at first if nothing will be announced', Plain, 13],
])('a waiting result() looks for the job %s', async (_, Waited, times) => {
  const find = jest.spyOn(MemoryStore.prototype, 'find');
  await wait(new Waited());

  await elapse(application.clock, 4);

  expect(find.mock.calls).toHaveLength(times);
  find.mockRestore();
});

it('a waiting result() rejects when its own connection is closed', async () => {
  await wait(new Gives());
  const refusal = result.catch((error: unknown) => error);
  await elapse(application.clock, 30);

  await application.manager.close();

  expect(await refusal).toMatchObject({ code: 'E_CONNECTION_CLOSED' });
});

describe('a store that no longer answers', () => {
  const silence = () =>
    jest.spyOn(MemoryStore.prototype, 'find').mockReturnValue(new Promise(() => undefined) as never);

  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['from the first look on', 0, '3s', 3],
    ['while somebody waits', 10, '13s', 3],
    ['to somebody who only looks once', 0, 0, 0.5],
  ] as const)('does not hold up result() %s', async (_, before, given, after) => {
    const { manager, clock } = application;
    id = await application.bus.dispatch(new Plain());
    if (before === 0) silence();
    const ended = jest.fn();
    const refusal = manager
      .connection()
      .result(id, { within: given })
      .catch((error: unknown) => error)
      .finally(ended);
    await elapse(clock, before);
    silence();
    await clock.advance(`${after * 1000 - 1}ms`);
    expect(ended).not.toHaveBeenCalled();

    await clock.advance('1ms');
    await until(clock, () => ended.mock.calls.length > 0);

    expect(await refusal).toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringMatching(`^Connection 'memory' at .* did not answer in ${before + after} s`) as string,
    });
  });

  it('is not blamed if only the last look was cut off', async () => {
    const { manager, clock } = application;
    id = await application.bus.dispatch(new Plain());
    const refusal = manager
      .connection()
      .result(id, { within: '55ms' })
      .catch((error: unknown) => error);
    await clock.advance('30ms');
    silence();

    await clock.advance('25ms');

    expect(await refusal).toMatchObject({ code: 'E_RESULT_PENDING', facts: { state: 'ready' } });
  });
});
