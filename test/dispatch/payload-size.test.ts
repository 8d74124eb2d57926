import { bytesOfSize } from '../../src/dispatch/payload-limit';
import { Job } from '../../src/job/job';
import type { Configuration } from '../../src/application/configuration/configuration';
import { PayloadTooLargeError } from '../../src/connections/errors';
import type { Size } from '../../src/connections/driver';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';

@Job()
class Import extends Job {
  constructor(readonly rows: string) {
    super();
  }
  handle(): void {
    throw new Error('no');
  }
}

const KILOBYTE = 1024;
let application: TestApplication;

const open = (more: Configuration = {}): TestApplication => (application = testApplication(more));
const sent = async (): Promise<number> => application.manager.connection('memory').size();

afterEach(() => application.manager.close());

/** A string that, as this job's data, makes a payload of the given number of bytes. */
async function filled(bytes: number, character = 'x'): Promise<string> {
  const { manager } = testApplication();
  await manager.connection().push(new Import(''));
  const [empty] = await manager.driver().queues.peek!('default', 'ready', 1);
  const room = bytes - empty!.payload.length;
  const width = Buffer.byteLength(character);
  return character.repeat(Math.floor(room / width)) + 'x'.repeat(room % width);
}

describe('a payload', () => {
  it.each(['x', 'é', '漢', '😀'])('of %s is refused from the first byte above the limit', async (character) => {
    const { manager } = open({ maxPayload: '2kb' });

    await manager.connection().push(new Import(await filled(2 * KILOBYTE, character)));
    const refused = manager.connection().push(new Import(await filled(2 * KILOBYTE + 1, character)));

    await expect(refused).rejects.toThrow(PayloadTooLargeError);
    expect(await sent()).toBe(1);
  });

  it('may have 1 MB by default', async () => {
    const { bus } = open();

    await bus.dispatch(new Import(await filled(KILOBYTE ** 2)));
    const refused = bus.dispatch(new Import(await filled(KILOBYTE ** 2 + 1)));

    await expect(refused).rejects.toMatchObject({
      code: 'E_PAYLOAD_TOO_LARGE',
      facts: { job: 'Import', connection: 'memory', size: 1_048_577, limit: 1_048_576 },
      message: expect.stringMatching(
        /^Import was not queued: its text has 1,048,577 bytes \(1 MB\), .* 1,048,576 bytes \(1 MB\)\. Pass an id/,
      ) as string,
    });
  });

  it('may be larger on a connection with a higher limit, and only there', async () => {
    const connections = { memory: { driver: 'memory' }, files: { driver: 'memory', maxPayload: '4kb' } } as const;
    const { bus, manager } = open({ maxPayload: '2kb', connections });
    const job = new Import('x'.repeat(3 * KILOBYTE));

    await bus.dispatch(job).onConnection('files');

    await expect(bus.dispatch(job)).rejects.toThrow(PayloadTooLargeError);
    expect(await manager.connection('files').size()).toBe(1);
  });

  it('is limited including the fields that createPayloadUsing adds', async () => {
    const { bus, manager } = open({ maxPayload: '2kb' });
    manager.createPayloadUsing(() => ({ trace: 'x'.repeat(2 * KILOBYTE) }));

    await expect(bus.dispatch(new Import(''))).rejects.toThrow(PayloadTooLargeError);
  });
});

describe('a payload above the limit', () => {
  const large = 'x'.repeat(3 * KILOBYTE);

  it.each<[string, (application: TestApplication) => PromiseLike<unknown>]>([
    ['dispatch', ({ bus }) => bus.dispatch(new Import(large))],
    ['dispatch with a delay', ({ bus }) => bus.dispatch(new Import(large)).delay('1m')],
    ['dispatchSync', ({ bus }) => bus.dispatchSync(new Import(large))],
    ['Bus.bulk', ({ bus }) => bus.bulk([new Import(''), new Import(large)])],
    ['bulk', ({ manager }) => manager.connection().bulk([new Import(''), new Import(large)])],
    ['push', ({ manager }) => manager.connection().push(new Import(large))],
    ['push of a name', ({ manager }) => manager.connection().push('Import', { rows: large })],
    ['later', ({ manager }) => manager.connection().later('1m', new Import(large))],
    ['pushRaw', ({ manager }) => manager.connection().pushRaw(JSON.stringify({ job: 'Import', data: large }))],
    ['laterRaw', ({ manager }) => manager.connection().laterRaw('1m', JSON.stringify({ job: 'Import', data: large }))],
  ])('is refused by %s, and nothing is sent', async (_, send) => {
    open({ maxPayload: '2kb' });

    await expect(send(application)).rejects.toThrow(PayloadTooLargeError);
    expect(await sent()).toBe(0);
  });

  it('is identified among many jobs', async () => {
    open({ maxPayload: '2kb' });

    await expect(application.bus.bulk([new Import(''), new Import(large)])).rejects.toThrow(/^job 2 of 2: Import was/);
  });
});

describe('a failed job', () => {
  async function failedOf(bytes: number, maxPayload: Size): Promise<string> {
    const { manager } = open({ maxPayload });
    const text = `{"job":"Import","data":{"rows":"${await filled(bytes)}"},"id":"7b1f","attempts":0}`;
    await manager.driver().push('default', [{ payload: text }]);
    await new Worker({ stopWhenEmpty: true }, manager).run();
    return '7b1f';
  }

  it('can be retried even though its counters made it longer than the limit', async () => {
    const { bus, manager } = open({ maxPayload: '2kb' });
    const id = await bus.dispatch(new Import(await filled(2 * KILOBYTE)));
    await new Worker({ stopWhenEmpty: true }, manager).run();

    expect(await manager.failed.retry(id)).toBe(true);
  });

  it('stays failed if it is too large', async () => {
    const id = await failedOf(4 * KILOBYTE, '2kb');

    await expect(application.manager.failed.retry(id)).rejects.toThrow(/^Import 7b1f was not queued/);
    await expect(application.manager.failed.retry('all')).rejects.toThrow('7b1f was not queued: its text has 4,020');
    expect(await application.manager.failed.get(id)).toBeDefined();
  });
});

describe('a size', () => {
  beforeEach(() => open());

  it.each<[Size, number]>([
    ['1kb', 1024],
    ['1.5mb', 1_572_864],
    [2048, 2048],
    ['512mb', 536_870_912],
  ])('%p is %i bytes', (size, bytes) => {
    expect(bytesOfSize(size)).toBe(bytes);
  });

  it.each([0, 1023, '0.5kb', 536_870_913, Infinity, 1.5e3 + 0.5, NaN, '1gb', '4 mb', 'mb', '', null, true, {}])(
    'cannot be %p',
    (size) => {
      expect(bytesOfSize(size)).toBeUndefined();
      expect(() => testApplication({ maxPayload: size as Size })).toThrow(/maxPayload: expected a size from '1kb'/);
    },
  );

  it('of a short string is checked without counting its bytes', () => {
    const { encoder } = open({ maxPayload: '2kb' }).manager;
    const count = jest.spyOn(Buffer, 'byteLength');

    encoder.encode(new Import('x'.repeat(100)), {});

    expect(count).not.toHaveBeenCalled();
    count.mockRestore();
  });
});
