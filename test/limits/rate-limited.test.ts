import { QueueUnavailableError } from '../../src/connections/errors';
import { rateLimited } from '../../src/limits/rate-limited';
import { LIMIT, nameOf } from '../../src/limits/deferral';
import { bookOf, bookText, decide } from '../../src/limits/rates';
import { payloadOf, reserved } from '../support/reservation';
import { application, calls, executor, setTheScene } from '../worker/executor-scene';
import { Pay, records, Refund, run, scene, waitOf } from './scene';

setTheScene();

const twice = { allow: 2, every: '10s' } as const;
const psp = nameOf('rate', '', 'psp');

beforeEach(() => (scene.layers = () => [rateLimited('psp', twice)]));

describe('rateLimited', () => {
  it('lets so many jobs start in a window, and puts the others off to slots of their own, at no cost in tries', async () => {
    const waits = [];
    for (let count = 0; count < 5; count += 1) waits.push(await waitOf());
    expect(waits.slice(0, 2)).toEqual([0, 0]);
    // The starts count until the end of their slice of 100 ms.
    expect(waits[2]).toBeGreaterThan(10);
    expect(waits[2]).toBeLessThanOrEqual(10.1);
    expect(waits[3]! - waits[2]!).toBeCloseTo(5.05, 2);
    expect(waits[4]! - waits[3]!).toBeCloseTo(5.05, 2);
    expect(calls).toEqual(['Pay', 'Pay']);
  });

  it('lets a job start when its slot has come, before those that come then', async () => {
    await waitOf();
    await waitOf();
    const wait = await waitOf();
    await application.clock.advance(wait);
    expect(await waitOf(new Pay(), 1)).toBe(0);
  });

  it('counts jobs of all classes that share a key', async () => {
    await waitOf();
    await waitOf(new Refund());
    expect(await waitOf()).toBeGreaterThan(0);
    scene.layers = () => [rateLimited('another', twice)];
    expect(await waitOf()).toBe(0);
  });

  it('obeys several rates of a key at once', async () => {
    scene.layers = () => [
      rateLimited('psp', [
        { allow: 3, every: '1m' },
        { allow: 1, every: '1s' },
      ]),
    ];
    expect(await waitOf()).toBe(0);
    expect(await waitOf()).toBeLessThan(1.1);
    for (const releases of [1, 2]) {
      await application.clock.advance('2s');
      expect(await waitOf(new Pay(), releases)).toBe(0);
    }
    await application.clock.advance('2s');
    expect(await waitOf(new Pay(), 3)).toBeGreaterThan(50);
  });

  it('charges none of several keys unless all let the job start', async () => {
    scene.layers = () => [rateLimited({ psp: twice, tenant: { allow: 1, every: '10s' } })];
    expect(await waitOf()).toBe(0);
    for (let count = 0; count < 3; count += 1) expect(await waitOf()).toBeGreaterThan(9);
    scene.layers = () => [rateLimited('psp', twice)];
    expect(await waitOf()).toBe(0);
    expect(await waitOf()).toBeGreaterThan(0);
  });

  it('asks the store once for all jobs that ask at the same time', async () => {
    const [get, replace] = [jest.spyOn(records(), 'get'), jest.spyOn(records(), 'replace')];
    const waits = await Promise.all(Array.from({ length: 50 }, () => waitOf()));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(2);
    expect(new Set(waits).size).toBe(49);
    expect([get.mock.calls.length, replace.mock.calls.length]).toEqual([1, 1]);
  });

  /** Before our next write of the key, another process charges it. */
  function chargeElsewhere(id: string): void {
    const store = records();
    const replace = store.replace.bind(store);
    const spy = jest.spyOn(store, 'replace').mockImplementation(async (record, expected, keep) => {
      if (record.id === id) {
        spy.mockRestore();
        const now = application.clock.now();
        const other = decide(bookOf(expected ?? record.value)!, now, { again: true, patience: 0 }, () => 0.5).book;
        await store.put([{ ...record, value: bookText(other, 'other') }], keep);
      }
      return replace(record, expected, keep);
    });
  }

  const startsOf = async (id: string): Promise<number | undefined> =>
    bookOf((await records().get(LIMIT, id))!)!.starts[0]![1];

  it('decides anew if another process has charged the key meanwhile', async () => {
    await waitOf();
    chargeElsewhere(psp);
    expect(await waitOf()).toBeGreaterThan(0);
    expect(await startsOf(psp)).toBe(2);
  });

  it('is charged once by each key, also if another process was first with one of them', async () => {
    const tenant = nameOf('rate', '', 'tenant');
    scene.layers = () => [rateLimited({ psp: twice, tenant: { allow: 3, every: '10s' } })];
    await waitOf();
    chargeElsewhere(tenant);
    expect(await waitOf()).toBe(0);
    expect([await startsOf(psp), await startsOf(tenant)]).toEqual([2, 3]);
  });

  it('asks anew if the store took so long that the start would be later than it counts', async () => {
    const store = records();
    const replace = store.replace.bind(store);
    jest.spyOn(store, 'replace').mockImplementationOnce(async (...given) => {
      await application.clock.advance('20s');
      return replace(...given);
    });
    expect(await waitOf()).toBe(0);
    await waitOf();
    expect(await waitOf()).toBeGreaterThan(9);
  });

  it('counts a record that it cannot read as empty, and says so once', async () => {
    await records().put([{ kind: LIMIT, id: psp, value: '{"a":' }], 60);
    expect(await waitOf()).toBe(0);
    await records().put([{ kind: LIMIT, id: psp, value: '[]' }], 60);
    expect(await waitOf()).toBe(0);
    expect(application.log.messages('warn')).toEqual(["The rate limit 'psp' cannot be read, and counts as empty."]);
  });

  it('obeys the rates that came later if a key is given different ones, and says so once', async () => {
    await waitOf();
    await application.clock.advance('1s');
    scene.layers = () => [rateLimited('psp', { allow: 1, every: '10s' })];
    expect(await waitOf()).toBeGreaterThan(8);
    expect(await waitOf()).toBeGreaterThan(8);
    expect(application.log.messages('warn')).toEqual([
      "The rate limit 'psp' is given different rates: 2 in 10 s elsewhere, and 1 in 10 s here. Those that came later count.",
    ]);
  });

  it('puts a job off by about five seconds while the store is away, and reports that once a minute', async () => {
    const reported: unknown[] = [];
    application.manager.onError((error) => reported.push(error));
    const facts = { connection: 'memory', store: 'Memory', address: 'here', consequence: 'limit was not read' };
    const away = new QueueUnavailableError(facts);
    const get = jest.spyOn(records(), 'get').mockRejectedValue(away);

    expect([await waitOf(), await waitOf()]).toEqual([5, 5]);
    expect(reported).toEqual([away]);
    await application.clock.advance('1m');
    await waitOf();
    expect(reported).toEqual([away, away]);
    expect(calls).toEqual([]);

    get.mockRestore();
    expect(await waitOf()).toBe(0);
  });

  it('fails the attempt if the store refuses for another reason', async () => {
    jest.spyOn(records(), 'get').mockRejectedValue(new Error('refused'));
    expect((await run()).error).toMatchObject({ message: 'refused' });
    expect(calls).toEqual([]);
  });

  it('does not start a job that was told to stop while it asked', async () => {
    const reason = new Error('the worker stops');
    const job = reserved(application.manager, payloadOf(new Pay()));
    jest.spyOn(records(), 'get').mockImplementation(async () => {
      job.abort(reason, 60);
      return undefined;
    });
    expect(await executor.run(job)).toMatchObject({ settlement: { outcome: 'released' }, reason });
    expect(calls).toEqual([]);
  });

  it.each<[string, () => unknown, string]>([
    [
      'no key',
      () => rateLimited(undefined as never, twice),
      'undefined is not valid. Its key is a number, or a text of 1 to 1000 characters.',
    ],
    ['an empty key', () => rateLimited('', twice), "'' is not valid. Its key is a number"],
    ['10 kB as its key', () => rateLimited('x'.repeat(10_000), twice), 'Its key is a number'],
    ['a list as its key', () => rateLimited(['psp'] as never, twice), "[ 'psp' ] is not valid. Its key is a number"],
    ['an empty key in a list', () => rateLimited({ '': twice }), "'' is not valid. Its key is a number"],
    ['no keys', () => rateLimited({}), '{} is not valid. Give a key and its rates'],
    ['rates for all keys', () => rateLimited({ psp: twice } as never, twice), 'Give a key and its rates'],
    [
      'no rate',
      () => rateLimited('psp', undefined as never),
      "rateLimited('psp'): undefined is not valid. Give { allow, every }",
    ],
    [
      'a number',
      () => rateLimited('psp', 30 as never),
      "30 is not valid. Give { allow, every }, such as { allow: 30, every: '1m' }.",
    ],
    ['no rates', () => rateLimited('psp', [] as never), '[] is not valid. Give { allow, every }'],
    ['words of BullMQ', () => rateLimited('psp', { max: 30, duration: 1000 } as never), 'Give { allow, every }'],
    [
      'an option that it does not know',
      () => rateLimited('psp', { ...twice, burst: 3 } as never),
      'Give { allow, every }',
    ],
    [
      'allow: 0',
      () => rateLimited('psp', { allow: 0, every: '1m' }),
      '0 is not valid. allow is a whole number from 1; to stop a queue, pause it.',
    ],
    [
      'a part of a start',
      () => rateLimited({ psp: { allow: 1.5, every: '1m' } }),
      "rateLimited({ 'psp' }): 1.5 is not valid.",
    ],
    ['allow as a text', () => rateLimited('psp', { allow: '5' as never, every: '1m' }), "'5' is not valid. allow is"],
    ['a window that is too short', () => rateLimited('psp', { allow: 5, every: '10ms' }), "every is at least '100ms'"],
  ])('refuses %s when it is called', (_what, call, message) => {
    expect(call).toThrow(
      expect.objectContaining({ code: 'E_INVALID_MIDDLEWARE_ARGUMENT', message: expect.stringContaining(message) }),
    );
  });

  it('refuses a window that is not a duration', () => {
    expect(() => rateLimited('psp', { allow: 5, every: 'minute' as never })).toThrow(
      expect.objectContaining({
        code: 'E_INVALID_DURATION',
        message: expect.stringMatching(/^every of rateLimited\('psp'\)/),
      }),
    );
  });

  it('cannot be asked outside of a run', async () => {
    const layer = rateLimited('psp', twice);
    await expect(layer.handle({} as never, async () => undefined)).rejects.toMatchObject({ code: 'E_NO_JOB_RUNS' });
  });
});
