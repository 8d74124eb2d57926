import { Job } from '../../src/job/job';
import type { BulkInterruptedError } from '../../src/dispatch/errors';
import { QueueUnavailableError } from '../../src/connections/errors';
import { watchedApplication } from '../support/watched-application';
import { reserveFrom } from '../support/exchange';

@Job({ queue: 'mails' })
class SendMail extends Job {
  constructor(readonly to: string) {
    super();
  }
}

@Job()
class Resize extends Job {
  constructor(readonly data: unknown) {
    super();
  }
}

class Undeclared extends SendMail {}

function given() {
  const { manager, watched, clock } = watchedApplication({
    connections: { main: { driver: 'memory', queue: 'usual', maxPayload: '4mb' } },
  });
  return { manager, queue: manager.connection(), driver: watched(), clock };
}

describe('pushing a job', () => {
  it('resolves with the id in its payload', async () => {
    const { queue, driver } = given();

    const id = await queue.push(new Resize(1));

    expect(await driver.payloads('usual')).toEqual([
      expect.objectContaining({ id, displayName: 'Resize', attempts: 0 }),
    ]);
  });

  it('uses the named queue, else that of the instance, of @Job, of the connection', async () => {
    const { queue, driver } = given();

    await queue.push(new SendMail('a').onQueue('own'), 'named');
    await queue.pushOn('first', new SendMail('b'));
    await queue.push(new SendMail('c').onQueue('own'));
    await queue.push(new SendMail('d'));
    await queue.push(new Resize('e'));

    expect(driver.pushes.map(({ queue }) => queue)).toEqual(['named', 'first', 'own', 'mails', 'usual']);
  });

  it('stays on this connection whatever the job says', async () => {
    const { queue, driver } = given();

    await queue.push(new SendMail('a').onConnection('elsewhere'));

    expect(driver.pushes).toHaveLength(1);
  });

  it('may be delayed by a duration or until a date', async () => {
    const { queue, driver, clock } = given();

    await queue.later('10m', new Resize(1));
    await queue.laterOn('high', 5, new Resize(2));
    await queue.later(new Date(clock.now() + 60_000), new Resize(3), 'low');
    await queue.later(new Date(0), new Resize(4));

    expect(driver.pushes.map(({ queue, entries: [entry] }) => [queue, entry?.delay, entry?.dueAt])).toEqual([
      ['usual', 600, undefined],
      ['high', 5, undefined],
      ['low', undefined, clock.now() + 60_000],
      ['usual', undefined, 0],
    ]);
  });

  it('accepts a name with JSON data, as string jobs have', async () => {
    const { queue, driver } = given();

    const ids = [
      await queue.push('App\\Jobs\\Mail@send', { to: 'ada' }),
      await queue.push('Mail@send', [1], 'a'),
      await queue.pushOn('a', 'Mail@send'),
      await queue.later(60, 'Mail@send', { n: 1 }, 'a'),
      await queue.laterOn('a', 60, 'Mail@send', { n: 2 }),
    ];

    expect(await driver.payloads('usual')).toMatchObject([
      { job: 'App\\Jobs\\Mail@send', data: { to: 'ada' }, id: ids[0], attempts: 0 },
    ]);
    expect(await driver.payloads('a')).toMatchObject([
      { data: [1], id: ids[1] },
      { job: 'Mail@send', id: ids[2] },
    ]);
    expect(await driver.payloads('a', 'delayed')).toMatchObject([{ data: { n: 1 } }, { data: { n: 2 } }]);
  });

  it('refuses a class without @Job, data that cannot be encoded and an invalid queue', async () => {
    const { queue, driver } = given();

    await expect(queue.push(new Undeclared('a'))).rejects.toMatchObject({ code: 'E_UNDECORATED_JOB' });
    await expect(queue.push(new Resize(() => 1))).rejects.toMatchObject({ code: 'E_UNSERIALIZABLE_VALUE' });
    await expect(queue.push(new Resize(1), 'a,b')).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
    expect(driver.pushes).toEqual([]);
  });

  it('names the job in the error if the store is away', async () => {
    const { queue, driver } = given();
    const facts = {
      connection: 'main',
      store: 'Redis',
      address: 'redis://h:6379',
      consequence: '1 job was not queued',
      deadline: 60,
    };
    const origin = 'REDIS_URL came from the environment';
    driver.beforePush = () => {
      throw new QueueUnavailableError({ ...facts, origin });
    };

    await expect(queue.push(new SendMail('a'))).rejects.toThrow(
      'Redis at redis://h:6379 did not answer in 60 s; SendMail was not queued. Is it running? REDIS_URL came from the environment.',
    );
  });
});

describe('pushing a raw payload', () => {
  it('queues the exact text and resolves with its id', async () => {
    const { queue, driver } = given();
    const text = '{ "job":"x" , "n":12345678901234567890,"id":"abc" }\n';

    expect(await queue.pushRaw(text, 'a')).toBe('abc');
    expect(await queue.pushRaw('not JSON')).toBeUndefined();

    expect(driver.pushes.map(({ queue, entries }) => [queue, entries[0]?.payload])).toEqual([
      ['a', text],
      ['usual', 'not JSON'],
    ]);
  });

  it('refuses a delayed text that is already waiting', async () => {
    const { queue } = given();
    await queue.laterRaw('1m', '{"id":"a"}');

    await expect(queue.laterRaw('2m', '{"id":"a"}')).rejects.toMatchObject({ code: 'E_DUPLICATE_PAYLOAD' });
    expect(await queue.counts()).toEqual({ ready: 0, delayed: 1, reserved: 0 });
  });

  it.each(['{"a":"\ud800"}', undefined as never])(
    'refuses %p, which could not be stored unchanged',
    async (payload) => {
      const { queue } = given();

      await expect(queue.pushRaw(payload)).rejects.toMatchObject({ code: 'E_INVALID_PAYLOAD' });
    },
  );
});

describe('counting and clearing', () => {
  it('include ready, delayed and reserved jobs', async () => {
    const { queue, driver } = given();
    await queue.bulk([1, 2, 3].map((n) => new Resize(n)));
    await queue.later('1m', new Resize(4));
    await reserveFrom(driver, { queues: ['usual'], limit: 1, lease: 30 });

    expect(await queue.counts()).toEqual({ ready: 2, delayed: 1, reserved: 1 });
    expect(await queue.size()).toBe(4);
    expect(await queue.size('other')).toBe(0);
    expect(await queue.clear()).toBe(4);
    expect(await queue.size()).toBe(0);
  });

  it('are refused by a driver without them, with the drivers that have them', async () => {
    const { manager } = given();
    Object.assign(manager.driver().queues, { clear: undefined });

    await expect(manager.connection().clear()).rejects.toMatchObject({ code: 'E_CAPABILITY' });
  });
});

describe('pushing in bulk', () => {
  it('needs one call for each hundred jobs, and keeps their order', async () => {
    const { queue, driver } = given();

    const ids = await queue.bulk(Array.from({ length: 250 }, (_, n) => new Resize(n)));

    expect(driver.pushes.map(({ entries }) => entries.length)).toEqual([100, 100, 50]);
    expect((await driver.payloads('usual')).map(({ id }) => id)).toEqual(ids);
  });

  it('puts at most a megabyte into a call, but at least one job', async () => {
    const { queue, driver } = given();
    const sizes = [600_000, 600_000, 2_000_000, 10, 10];

    await queue.bulk(sizes.map((size) => new Resize('x'.repeat(size))));

    expect(driver.pushes.map(({ entries }) => entries.length)).toEqual([1, 1, 1, 2]);
  });

  it('sends each job to its own queue with its own delay, unless a queue is named', async () => {
    const { queue, driver } = given();
    const jobs = () => [new Resize(1), new SendMail('a').delay('1m'), new Resize(2)];

    const ids = await queue.bulk(jobs());
    await queue.bulk(jobs(), 'named');

    expect(driver.pushes.map(({ queue, entries }) => [queue, entries.map(({ delay }) => delay)])).toEqual([
      ['usual', [undefined, undefined]],
      ['mails', [60]],
      ['named', [undefined, 60, undefined]],
    ]);
    expect((await driver.payloads('usual')).map(({ id }) => id)).toEqual([ids[0], ids[2]]);
  });

  it('sends nothing if one of the jobs cannot be encoded', async () => {
    const { queue, driver } = given();
    const jobs = Array.from({ length: 150 }, (_, n) => new Resize(n));

    await expect(queue.bulk([...jobs, new Resize(Symbol('no'))])).rejects.toMatchObject({
      code: 'E_UNSERIALIZABLE_VALUE',
    });
    expect(driver.pushes).toEqual([]);
  });

  it('reports which jobs were queued if the store fails midway', async () => {
    const { queue, driver } = given();
    const pass = (): void => undefined;
    driver.beforePush = (count) => [pass, pass, () => Promise.reject(new Error('gone'))][count]?.();

    const error = await queue
      .bulk(Array.from({ length: 250 }, (_, n) => new Resize(n)))
      .catch((error: unknown) => error);

    expect(error).toMatchObject({
      code: 'E_BULK_INTERRUPTED',
      message:
        "200 of 250 jobs went in; then the queue 'usual' took no more: gone. Send only those again whose positions are in " +
        'facts.unsent, counted from 0.',
    });
    const ids = (await driver.payloads('usual')).map(({ id }) => id);
    const unsent = Array.from({ length: 50 }, (_, place) => 200 + place);
    expect((error as BulkInterruptedError).facts).toEqual({ ids, unsent, total: 250, queue: 'usual' });
  });

  it('fails like a single push if nothing was sent', async () => {
    const { queue, driver } = given();
    driver.beforePush = () => Promise.reject(new Error('gone'));

    await expect(queue.bulk([new Resize(1)])).rejects.toThrow('gone');
  });

  it('lets the event loop turn', async () => {
    const { queue, driver } = given();
    const pushesAtTurns: number[] = [];
    const watch = (): void => {
      pushesAtTurns.push(driver.pushes.length);
      watching = setImmediate(watch);
    };
    let watching = setImmediate(watch);

    await queue.bulk(Array.from({ length: 500 }, (_, n) => new Resize(n)));
    clearImmediate(watching);

    expect(new Set(pushesAtTurns)).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  });
});

describe('createPayloadUsing', () => {
  it('adds fields to every payload until it is removed', async () => {
    const { manager, queue, driver } = given();
    const off = manager.createPayloadUsing((connection, queue, job) => ({ trace: [connection, queue, job] }));
    manager.createPayloadUsing(() => undefined);

    await queue.push(new SendMail('a'));
    await queue.push('Mail@send', {});
    await queue.bulk([new SendMail('b')]);
    off();
    await queue.push(new SendMail('c'));

    expect((await driver.payloads('mails')).map(({ trace }) => trace)).toEqual([
      ['main', 'mails', 'SendMail'],
      ['main', 'mails', 'SendMail'],
      undefined,
    ]);
    expect(await driver.payloads('usual')).toMatchObject([{ trace: ['main', 'usual', 'Mail@send'] }]);
  });
});
