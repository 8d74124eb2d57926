/** Jobs that a Laravel application sends, in a worker of Onqueue. */
import { Bus, InvalidPayloadError, Job, type OnqueueError, Queue } from 'onqueue';
import type { ModelReference } from 'onqueue/laravel';
import * as property from '../support/properties';
import { type PhpValue, PhpArray, PhpEnum, PhpFloat } from '../../src/laravel/php-text';
import {
  act,
  application,
  command,
  executor,
  fromLaravel,
  inPhp,
  list,
  moment,
  NAME,
  php,
  read,
  run,
  runs,
  SendInvoice,
  setTheScene,
} from './scene';

setTheScene();

/** Each failure costs a millisecond or two here. `php-text.test.ts` reads more damaged texts. */
const COUNT = 500;

/** A list of lists, each of which refers to the one before it, twice or as often as told. */
function explosion(lists: number, references = 2): string {
  let text = 'i:0;a:0:{}';
  // The job is 1, the list is 2, and the first of its lists 3. References by value take no place of their own.
  for (let place = 1; place < lists; place += 1) {
    const members = Array.from({ length: references }, (_, key) => `i:${key};R:${place + 2};`);
    text += `i:${place};a:${references}:{${members.join('')}}`;
  }
  return `O:20:"${NAME}":1:{s:1:"a";a:${lists}:{${text}}}`;
}

describe('a job of Laravel', () => {
  it('runs with its properties, and without what Laravel keeps beside them', async () => {
    const { job, outcome } = await run(
      fromLaravel(
        command({
          invoice: 7,
          '\0*\0to': 'bo',
          [`\0${NAME}\0lines`]: list('a'),
          queue: 'invoices',
          tries: 3,
          chained: list(),
          delay: null,
        }),
      ),
    );

    expect(outcome.settlement.outcome).toBe('completed');
    expect(job.name).toBe(NAME);
    expect(runs).toEqual([{ invoice: 7, to: 'bo', lines: ['a'] }]);
  });

  it.each<[given: PhpValue, value: unknown]>([
    [new PhpFloat(1), 1],
    [2n ** 62n, 2n ** 62n],
    [new PhpEnum('App\\Enums\\Plan', 'Paid'), 'Paid'],
    [list(), []],
    [new PhpArray(new Map([['a', list(1)]])), { a: [1] }],
    [
      new PhpArray(
        new Map([
          [5, 'x'],
          [3, 'y'],
        ]),
      ),
      new Map([
        [5, 'x'],
        [3, 'y'],
      ]),
    ],
    [php('App\\Address', { '\0*\0city': 'Rome', zip: null }), { city: 'Rome', zip: null }],
    [moment('2026-11-21 10:00:00.123456', 3, 'UTC'), new Date('2026-11-21T10:00:00.123Z')],
    [moment('2026-11-21 10:00:00.000000', 1, '+01:00'), new Date('2026-11-21T09:00:00Z')],
    [moment('2026-11-21 10:00:00.000000', 3, 'America/New_York'), new Date('2026-11-21T15:00:00Z')],
    // It comes twice that day; PHP takes the first.
    [moment('2026-10-25 02:30:00.000000', 3, 'Europe/Berlin'), new Date('2026-10-25T00:30:00Z')],
    [moment('2026-07-01 10:00:00.000000', 2, 'CEST'), { date: '2026-07-01 10:00:00.000000', timezone: 'CEST' }],
    [
      moment('2026-07-01 10:00:00.000000', 3, 'Mars/Base'),
      { date: '2026-07-01 10:00:00.000000', timezone: 'Mars/Base' },
    ],
    [moment('nonsense', 3, 'UTC'), { date: 'nonsense', timezone: 'UTC' }],
  ])('has values of JavaScript: %j', async (given, value) => {
    expect(await read(given)).toEqual(value);
  });

  it('has references to models, which can be sent back', async () => {
    const identifier = 'Illuminate\\Contracts\\Database\\ModelIdentifier';
    const given = {
      class: 'App\\Models\\User',
      id: 7,
      relations: list('posts'),
      connection: 'main',
      collectionClass: null,
    };

    const user = (await read(php(identifier, given))) as ModelReference;

    expect(user).toMatchObject({ class: 'App\\Models\\User', id: 7, relations: ['posts'], connection: 'main' });
    const { collectionClass: _, ...sentBack } = given;
    expect((await inPhp({ user }))['user']).toEqual(php(identifier, sentBack));
  });

  it('obeys what its dispatch said of tries, timeout, backoff and the end of its retries', async () => {
    act.behave = () => {
      throw new Error('no luck');
    };
    const fields = { maxTries: 5, timeout: 30, backoff: '7,70', retryUntil: 4_102_444_800 };

    const { job, outcome } = await run(fromLaravel(command({}), fields), { attempts: 2, exceptions: 1 });

    expect(job.options).toMatchObject({ tries: 5, timeout: 30, retryUntil: 4_102_444_800_000 });
    expect(outcome.settlement).toMatchObject({ outcome: 'released', delay: 70 });
  });

  it('is told of its failure', async () => {
    act.behave = () => {
      throw new Error('no luck');
    };
    const { job, outcome } = await run(fromLaravel(command({ invoice: 7 }), { maxTries: 1 }));
    await executor.announcer.announce(job, outcome);

    expect(outcome.settlement).toMatchObject({ outcome: 'failed' });
    expect(runs).toEqual([{ invoice: 7 }, 'no luck']);
  });

  it('is told of by its class, whoever asks', async () => {
    const { manager } = application;
    await manager.driver().push('invoices', [{ payload: fromLaravel(command({})).toString() }]);
    expect(await manager.connection().find('the-id')).toMatchObject({ name: NAME, tries: 3 });
  });

  it.each<[why: string, payload: Buffer, reason: RegExp]>([
    ['encrypted', fromLaravel('eyJpdiI6Ik1UST0iLCJ2YWx1ZSI6IiJ9'), /: its data are encrypted with Laravel's key\. /],
    ['chained', fromLaravel(command({ chained: list('O:…') })), /: it belongs to a chain of Laravel\. /],
    ['caught', fromLaravel(command({ chainCatchCallbacks: list('O:…') })), /: it belongs to a chain of Laravel\. /],
    ['of a batch', fromLaravel(command({ batchId: 'b' })), /: it belongs to a batch of Laravel\. /],
    [
      'of a batch of Laravel 12',
      fromLaravel('', { data: { commandName: NAME, command: command({}), batchId: 'b' } }),
      /: it belongs to a batch of Laravel\. /,
    ],
    [
      'a closure',
      fromLaravel('O:…', { displayName: 'Closure (web.php:12)' }, 'Illuminate\\Queue\\CallQueuedClosure'),
      /^Closure \(web\.php:12\) the-id goes back .*: it is a closure, which is code of PHP\. /,
    ],
    [
      'of a class that nobody declared',
      fromLaravel('O:…', {}, 'App\\Jobs\\Other'),
      /: no class here has @LaravelJob\('App\\\\Jobs\\\\Other'\)\. /,
    ],
  ])('goes back to its queue at no cost, and says why: it is %s', async (_why, payload, reason) => {
    const { outcome } = await run(payload, { attempts: 9, releases: 9999 });

    expect(outcome.settlement).toMatchObject({ outcome: 'released', counters: { attempts: 8 } });
    expect(outcome.reason).toMatchObject({ code: 'E_LARAVEL_JOB', message: expect.stringMatching(reason) as string });
    expect(runs).toEqual([]);
  });

  it('goes back if a class of its name is no @LaravelJob', async () => {
    @Job({ name: 'App\\Jobs\\Plain' })
    class Plain extends Job {
      handle(): void {
        runs.push('ran');
      }
    }
    const { outcome } = await run(fromLaravel(command({}, 'App\\Jobs\\Plain'), {}, 'App\\Jobs\\Plain'));
    expect(Plain.name).toBe('Plain');
    expect(outcome.reason).toMatchObject({ code: 'E_LARAVEL_JOB' });
    expect(runs).toEqual([]);
  });

  it.each<[what: string, payload: Buffer]>([
    ['is damaged', fromLaravel('O:20:"App')],
    ['is no text', fromLaravel('', { data: { commandName: NAME, command: 7 } })],
    ['is no object', fromLaravel('a:0:{}')],
    ['is of another class', fromLaravel(command({}, 'App\\Jobs\\Other'))],
    ['reaches a prototype', fromLaravel(command({ a: new PhpArray(new Map([['__proto__', 1]])) }))],
    ['hides a method', fromLaravel(command({ handle: 'x' }))],
    ['contains itself', fromLaravel(`O:20:"${NAME}":1:{s:1:"a";a:1:{i:0;R:2;}}`)],
    ['means very many values', fromLaravel(explosion(40))],
    ['has a deep chain of references', fromLaravel(explosion(2000, 1))],
  ])('fails if its text %s', async (_what, payload) => {
    const { outcome } = await run(payload);

    expect(outcome.settlement.outcome).toBe('failed');
    expect(outcome.error).toBeInstanceOf(InvalidPayloadError);
    expect(runs).toEqual([]);
  });

  it('fails or goes back if its text is damaged in any way, and runs only as what is declared', async () => {
    const whole = fromLaravel(
      command({
        invoice: 7,
        '\0*\0to': 'bo',
        at: moment('2026-11-21 10:00:00.000000', 3, 'Europe/Berlin'),
        lines: list(
          php('App\\Line', { sku: 'A', price: new PhpFloat(1.5) }),
          new PhpEnum('App\\Plan', 'Paid'),
          2n ** 62n,
        ),
        chained: list(),
        batchId: null,
      }),
    ).toString();
    const { command: text } = (JSON.parse(whole) as { data: { command: string } }).data;
    const ends = new Map<string, number>();
    const damage = property.array(property.tuple(property.nat(text.length - 1), property.nat(127)), {
      minLength: 1,
      maxLength: 3,
    });
    for (const changes of property.sample(damage, COUNT)) {
      const bytes = Buffer.from(text);
      for (const [place, byte] of changes) bytes[place] = byte;
      const { outcome } = await run(fromLaravel(bytes.toString()));
      const told = (outcome.error ?? outcome.reason) as OnqueueError | undefined;
      const end = `${outcome.settlement.outcome} ${told?.code}`;
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    const completed = ends.get('completed undefined') ?? 0;
    const failed = ends.get('failed E_INVALID_PAYLOAD') ?? 0;
    const released = ends.get('released E_LARAVEL_JOB') ?? 0;
    expect(completed + failed + released).toBe(COUNT);
    expect(runs.length).toBe(completed);
    expect(failed).toBeGreaterThan(COUNT / 2);
  });

  it('is decoded by a fake, and run by the sync connection', async () => {
    const queue = Queue.fake();
    await Bus.dispatch(new SendInvoice({ invoice: 7, at: new Date(0) }));
    queue.assertPushed(SendInvoice, (job) => job['invoice'] === 7 && (job['at'] as Date).getTime() === 0);
    queue.restore();

    await application.bus.dispatchSync(new SendInvoice({ invoice: 8 }));
    expect(runs).toMatchObject([{ invoice: 8, to: 'ada' }]);
  });
});

describe('a string job with dates', () => {
  @Job({ dates: ['at', 'until'] })
  class Remind extends Job {
    declare at: unknown;
    handle(): void {
      runs.push({ ...this });
    }
  }

  const remind = (data: object): Buffer =>
    Buffer.from(JSON.stringify({ job: `App\\Jobs\\${Remind.name}@handle`, data }));

  it('has them as dates', async () => {
    await run(remind({ at: '2026-11-21T10:00:00.123456+01:00', until: null, note: '2026-11-21T10:00:00Z' }));
    expect(runs).toEqual([{ at: new Date('2026-11-21T09:00:00.123Z'), until: null, note: '2026-11-21T10:00:00Z' }]);
  });

  it.each(['2026-11-21 10:00:00', '2026-11-21T10:00:00', '2026-13-21T10:00:00Z', 1_795_219_200, { date: 'x' }])(
    'fails if %j stands in place of one',
    async (at) => {
      const { outcome } = await run(remind({ at }));
      expect(outcome.error).toMatchObject({
        code: 'E_INVALID_PAYLOAD',
        message: expect.stringContaining('/data/at: expected a moment such as 2026-11-21T10:00:00Z') as string,
      });
    },
  );
});
