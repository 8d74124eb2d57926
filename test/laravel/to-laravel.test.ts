/** Jobs that Onqueue sends to a Laravel application: their declarations and payloads. */
import { Exclude, Expose, Transform } from 'class-transformer';
import { Job, Middleware, UnserializableValueError } from 'onqueue';
import { LaravelJob, model } from 'onqueue/laravel';
import { type PhpValue, PhpArray, PhpEnum, PhpFloat, PhpObject } from '../../src/laravel/php-text';
import {
  application,
  type Fields,
  fromLaravel,
  inPhp,
  list,
  moment,
  NAME,
  php,
  run,
  runs,
  SendInvoice,
  sent,
  setTheScene,
  taken,
} from './scene';

@Middleware()
class Quiet {
  handle(_job: unknown, next: () => Promise<unknown>): Promise<unknown> {
    return next();
  }
}

setTheScene();

describe('a job that Onqueue sends', () => {
  it('has the payload that a worker of Laravel expects, with the options of its class', async () => {
    expect(await sent()).toEqual({
      uuid: expect.stringMatching(/^[\da-f-]{36}$/) as string,
      displayName: NAME,
      job: 'Illuminate\\Queue\\CallQueuedHandler@call',
      data: {
        commandName: NAME,
        command:
          'O:20:"App\\Jobs\\SendInvoice":5:{s:5:"\0*\0to";s:3:"ada";s:27:"\0App\\Jobs\\SendInvoice\0lines";a:0:{}s:6:"amount";d:1;s:4:"plan";N;s:3:"due";N;}',
      },
      maxTries: 3,
      backoff: '1,5',
      timeout: 120,
      id: expect.any(String) as string,
      attempts: 1,
    });
  });

  it('has the end of its retries by the clock of the store, if its class gives a span', async () => {
    @LaravelJob('App\\Jobs\\Brief', { queue: 'invoices', retryUntil: '1h', tries: 0 })
    class Brief extends Job {}
    await application.bus.dispatch(new Brief());
    expect(await taken()).toMatchObject({ maxTries: 0, retryUntil: (application.clock.now() + 3_600_000) / 1000 });
  });

  it('has values of PHP in its properties', async () => {
    const at = new Date('2026-11-21T10:00:00.123Z');
    const carbon = moment('2026-11-21 10:00:00.123000', 3, 'UTC');
    expect(
      await inPhp({
        count: 3,
        half: 0.5,
        amount: [1, { vat: 2 }],
        big: 9_007_199_254_740_993n,
        plan: ['Paid', null],
        at,
        due: at,
        map: new Map<unknown, unknown>([
          [7, 'b'],
          ['7x', 'a'],
        ]),
        ids: { 5: 'five', name: true },
        user: model('App\\Models\\User', 7, { relations: ['posts'], connection: 'archive' }),
        users: model('App\\Models\\User', [1, 2]),
      }),
    ).toMatchObject({
      count: 3,
      half: new PhpFloat(0.5),
      amount: list(new PhpFloat(1), new PhpArray(new Map([['vat', new PhpFloat(2)]]))),
      big: 9_007_199_254_740_993n,
      plan: list(new PhpEnum('App\\Enums\\Plan', 'Paid'), null),
      at: carbon,
      due: new PhpObject('DateTimeImmutable', carbon.entries),
      map: new PhpArray(
        new Map<string | number, PhpValue>([
          [7, 'b'],
          ['7x', 'a'],
        ]),
      ),
      ids: new PhpArray(
        new Map<string | number, PhpValue>([
          [5, 'five'],
          ['name', true],
        ]),
      ),
      user: php('Illuminate\\Contracts\\Database\\ModelIdentifier', {
        class: 'App\\Models\\User',
        id: 7,
        relations: list('posts'),
        connection: 'archive',
      }),
      users: php('Illuminate\\Contracts\\Database\\ModelIdentifier', {
        class: 'App\\Models\\User',
        id: list(1, 2),
        relations: list(),
        connection: null,
      }),
    });
  });

  it('is refused if a property is undefined: PHP would fail where the job reads it', async () => {
    await expect(sent({ at: undefined })).rejects.toMatchObject({
      code: 'E_LARAVEL_PROPERTY',
      message: expect.stringMatching(
        /^SendInvoice\.at is undefined\. Laravel needs a value there: write null\. \(.*scene\.ts\)$/,
      ) as string,
    });
    await expect(sent({ lines: undefined })).rejects.toMatchObject({ facts: { property: 'lines' } });
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);

  it.each<[value: unknown, path: string, kind: string]>([
    [{ a: [undefined] }, 'SendInvoice.it.a[0]', 'undefined'],
    [() => 1, 'SendInvoice.it', 'a function'],
    [Symbol('x'), 'SendInvoice.it', 'a symbol'],
    [new Error('x'), 'SendInvoice.it', 'an instance of Error'],
    [Buffer.from('x'), 'SendInvoice.it', 'an instance of Buffer'],
    ['\ud800', 'SendInvoice.it', 'a string with half a surrogate pair'],
    [2n ** 63n, 'SendInvoice.it', 'a bigint of more than 64 bits'],
    [new Date(Number.NaN), 'SendInvoice.it', 'a Date that PHP cannot read'],
    [new Date('+012345-01-01'), 'SendInvoice.it', 'a Date that PHP cannot read'],
    [new Map([[{}, 1]]), 'SendInvoice.it[[object Object]]', 'under a key that PHP does not have'],
    [
      new Map<unknown, number>([
        [7, 1],
        ['7', 2],
      ]),
      'SendInvoice.it.7',
      'under a key that PHP does not have',
    ],
    [new Map([[2n ** 64n, 1]]), 'SendInvoice.it[18446744073709551616]', 'under a key that PHP does not have'],
    [[,], 'SendInvoice.it[0]', 'undefined'], // oxlint-disable-line no-sparse-arrays
    [JSON.parse('{"__proto__":1}'), 'SendInvoice.it.__proto__', 'under a key that PHP does not have'],
    [cycle, expect.stringContaining('SendInvoice.it[0][0]') as string, 'more than 512 levels down'],
  ])('is refused with the path to a value that PHP does not have: %p', async (it, path, kind) => {
    const refused: unknown = await sent({ it }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UnserializableValueError);
    expect(refused).toMatchObject({ facts: { path, kind } });
  });

  it('is refused if the value is no case of its enum', async () => {
    await expect(sent({ plan: 'Paid";' })).rejects.toMatchObject({
      facts: { path: 'SendInvoice.plan', kind: 'no case of App\\Enums\\Plan' },
    });
  });

  it('stands alone: Laravel knows nothing of chains, batches, schedules and middleware', async () => {
    const job = (): SendInvoice => new SendInvoice({});
    const { bus } = application;
    const refusal = { code: 'E_LARAVEL_DISPATCH' };
    await expect(bus.chain([job(), job()]).dispatch()).rejects.toMatchObject(refusal);
    await expect(bus.batch([job()]).dispatch()).rejects.toMatchObject(refusal);
    await expect(bus.dispatch(job().through(new Quiet()))).rejects.toMatchObject(refusal);
  });
});

describe('@LaravelJob', () => {
  it.each(['', 'App\\', '\\App\\Jobs\\X', 'App Jobs', '1App'])('refuses %j as the name of a class', (name) => {
    expect(() => LaravelJob(name)).toThrow(TypeError);
    expect(() => LaravelJob(NAME, { enums: { plan: name } })).toThrow(/is no class of PHP/);
  });

  it.each(['unique', 'version'])('refuses the option %s, which Laravel would not heed', (option) => {
    const declare = (): unknown =>
      LaravelJob('App\\Jobs\\Refused', { [option]: option === 'unique' || 1 })(class Refused {});
    expect(declare).toThrow(new RegExp(`^${option} on Refused|^${option} on App`));
  });

  it('heeds the decorators of class-transformer', async () => {
    @LaravelJob('App\\Jobs\\Mapped', { queue: 'invoices' })
    class Mapped extends Job {
      @Expose({ name: 'send_at' })
      @Transform(({ value }) => `${value as string}!`, { toPlainOnly: true })
      at = 'now';

      @Exclude()
      secret = 1;

      handle(): void {
        runs.push({ ...this });
      }
    }
    await application.bus.dispatch(new Mapped());
    const { data } = (await taken()) as Fields;
    expect(data['command']).toBe('O:15:"App\\Jobs\\Mapped":1:{s:7:"send_at";s:4:"now!";}');
    await run(fromLaravel(data['command'] as string, {}, 'App\\Jobs\\Mapped'));
    expect(runs).toEqual([{ at: 'now!' }]);
  });

  it('is what a format comes from, and names are a list', () => {
    class Odd {}
    expect(() => Job({ format: 'json' as never })(Odd)).toThrow(/^format on Odd.*write @LaravelJob\(\)/i);
    expect(() => Job({ dates: 'at' as never })(Odd)).toThrow(/^dates on Odd.*such as \['at'\]/);
  });

  it('is not inherited', async () => {
    @Job({ name: 'SendReminder' })
    class SendReminder extends SendInvoice {}
    await application.bus.dispatch(new SendReminder({}));
    expect(await taken()).toMatchObject({ displayName: 'SendReminder', job: 'onqueue' });
  });
});
