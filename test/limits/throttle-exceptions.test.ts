import { QueueUnavailableError } from '../../src/connections/errors';
import { throttleExceptions } from '../../src/limits/throttle-exceptions';
import { LIMIT, nameOf } from '../../src/limits/deferral';
import { application, calls, setTheScene } from '../worker/executor-scene';
import { Pay, records, Refund, run, scene, waitOf } from './scene';

setTheScene();

class GatewayError extends Error {}

const circuit = { after: 3, within: '1m', wait: '5m' } as const;
const down = (): never => {
  throw new GatewayError('down');
};

beforeEach(() => {
  scene.layers = () => [throttleExceptions(circuit)];
  scene.behave = down;
});

afterEach(() => (scene.behave = () => undefined));

async function fail(times: number, job: object = new Pay()): Promise<void> {
  for (let count = 0; count < times; count += 1) expect((await run(job)).error).toMatchObject({ message: 'down' });
}

describe('throttleExceptions', () => {
  it('puts jobs off at no cost once so many have failed, and the failed attempts are ordinary ones', async () => {
    const { settlement } = await run();
    expect(settlement).toMatchObject({ outcome: 'released', delay: 60, counters: { attempts: 1, exceptions: 1 } });
    await fail(2);
    // Its end, and half of a tenth.
    expect(await waitOf()).toBe(315);
    expect(calls).toHaveLength(3);
  });

  it('lets jobs run when the wait is over, and the next failure opens it again', async () => {
    await fail(3);
    await application.clock.advance('5m');
    await fail(1);
    expect(await waitOf()).toBe(315);
    await application.clock.advance('5m');
    scene.behave = () => undefined;
    expect(await waitOf()).toBe(0);
    await application.clock.advance('1m');
    scene.behave = down;
    await fail(2);
    scene.behave = () => undefined;
    expect(await waitOf()).toBe(0);
  });

  it('does not count failures that are older', async () => {
    await fail(2);
    await application.clock.advance('1m');
    await fail(2);
    scene.behave = () => undefined;
    expect(await waitOf()).toBe(0);
  });

  it('counts only the errors that it was told to', async () => {
    scene.layers = () => [throttleExceptions({ ...circuit, only: [RangeError, (error) => error.message === 'busy'] })];
    await fail(5);
    scene.behave = () => {
      throw new Error('busy');
    };
    for (let count = 0; count < 3; count += 1) await run();
    expect(await waitOf()).toBe(315);
  });

  it('keeps the classes apart, unless they share a key', async () => {
    await fail(3);
    await fail(3, new Refund());
    expect(await waitOf(new Refund())).toBe(315);
    scene.layers = () => [throttleExceptions({ ...circuit, key: 'gateway' })];
    await fail(2);
    await fail(1, new Refund());
    expect(await waitOf()).toBe(315);
  });

  it('does not count what a job throws because it was told to stop', async () => {
    scene.layers = () => [throttleExceptions({ ...circuit, after: 1 })];
    scene.behave = (job) => {
      const { job: context } = job as unknown as {
        job: { signal: AbortSignal; abort: (reason: Error, grace: number) => void };
      };
      expect(context.signal.aborted).toBe(false);
      context.abort(new Error('the worker stops'), 60);
      throw new Error('stopped');
    };
    await run();
    scene.behave = () => undefined;
    expect(await waitOf()).toBe(0);
  });

  it('reads the store at most once a second while all is well, and writes nothing', async () => {
    scene.behave = () => undefined;
    const [get, replace] = [jest.spyOn(records(), 'get'), jest.spyOn(records(), 'replace')];
    for (let count = 0; count < 10; count += 1) await waitOf();
    await application.clock.advance('1s');
    await waitOf();
    expect([get.mock.calls.length, replace.mock.calls.length]).toEqual([2, 0]);
  });

  it('does not wait for an end that a store wrote while its clock was hours ahead, and opens again', async () => {
    const ahead = application.clock.now() + 5 * 3_600_000;
    const value = JSON.stringify(['other', ahead, ahead, ahead]);
    await records().put([{ kind: LIMIT, id: nameOf('throttle', 'Pay', ''), value }], 600);
    await fail(3);
    expect(await waitOf()).toBe(315);
  });

  it('learns within a second what other processes have met', async () => {
    scene.behave = () => undefined;
    await waitOf();
    const until = application.clock.now() + 60_000;
    await records().put([{ kind: LIMIT, id: nameOf('throttle', 'Pay', ''), value: `["other",${until}]` }], 60);
    expect(await waitOf()).toBe(0);
    await application.clock.advance('1s');
    expect(await waitOf()).toBe(59 + 15);
  });

  it('counts a failure that another process counts at the same time', async () => {
    const store = records();
    const replace = store.replace.bind(store);
    const id = nameOf('throttle', 'Pay', '');
    const now = application.clock.now();
    await fail(1);
    jest.spyOn(store, 'replace').mockImplementationOnce(async (record, expected, keep) => {
      await store.put([{ kind: LIMIT, id, value: `["other",0,${now},${now}]` }], 60);
      return replace(record, expected, keep);
    });
    await fail(1);
    expect(await waitOf()).toBe(315);
  });

  it('counts a record that it cannot read as empty', async () => {
    await records().put([{ kind: LIMIT, id: nameOf('throttle', 'Pay', ''), value: '["other","soon"]' }], 60);
    await fail(3);
    expect(await waitOf()).toBe(315);
  });

  it('puts jobs off while the store is away, and leaves a job its own error if it goes away meanwhile', async () => {
    const reported: unknown[] = [];
    application.manager.onError((error) => reported.push(error));
    const facts = { connection: 'memory', store: 'Memory', address: 'here', consequence: 'limit was not read' };
    const away = new QueueUnavailableError(facts);
    jest.spyOn(records(), 'replace').mockRejectedValue(away);
    await fail(1);
    await application.clock.advance('1s');
    jest.spyOn(records(), 'get').mockRejectedValue(away);
    expect(await waitOf()).toBe(5);
    expect(reported).toEqual([away]);
  });

  it.each<[string, object, string]>([
    ['no options', undefined as never, 'undefined is not valid. Give { after, within, wait }'],
    ['no wait', { after: 5, within: '1m' }, 'Give { after, within, wait }'],
    ['an option that it does not know', { ...circuit, by: 'gateway' }, 'Give { after, within, wait }'],
    ['after: 0', { ...circuit, after: 0 }, '0 is not valid. after is a whole number from 1 to 1000.'],
    ['too many', { ...circuit, after: 1001 }, '1001 is not valid. after is'],
    ['no window', { ...circuit, within: 0 }, '0 is not valid. within is a time above 0.'],
    ['a class beside the list', { ...circuit, only: GatewayError }, 'only is a list of error classes'],
    ['an empty list', { ...circuit, only: [] }, 'only is a list of error classes'],
    ['no error class', { ...circuit, only: [Map] }, 'the function Map is not valid. only is a list'],
    ['a key that is no text', { ...circuit, key: {} }, '{} is not valid. Its key is a number'],
  ])('refuses %s when it is called', (_what, options, message) => {
    expect(() => throttleExceptions(options as never)).toThrow(
      expect.objectContaining({ code: 'E_INVALID_MIDDLEWARE_ARGUMENT', message: expect.stringContaining(message) }),
    );
  });
});
