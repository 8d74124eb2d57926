import '../../src/composition';
import { Job } from '../../src/job/job';
import type { JobOptions } from '../../src/job/options';
import type { PendingSchedule } from '../../src/schedule/schedule';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;
beforeEach(() => {
  application = testApplication();
});

@Job()
class Prune extends Job {
  constructor(readonly age = '30d') {
    super();
  }
  handle(): void {}
}

@Job({ debounce: { wait: '5s' } })
class Sync extends Job {
  handle(): void {}
}

@Job()
class Own extends Job {
  queue(): void {}
}

const schedule = (make: () => object = () => new Prune()): PendingSchedule => application.manager.schedule(make);
const all = (): readonly { readonly name: string; readonly spec: string }[] => application.manager.schedules.all;

/** The first occurrence after the beginning of 2027, which is a Friday. */
const first = (declare: (schedule: PendingSchedule) => unknown): string => {
  application = testApplication();
  declare(schedule());
  const [declared] = application.manager.schedules.all;
  return new Date(declared!.parts.cadence.next(Date.UTC(2027, 0, 1))!).toISOString().slice(0, 16);
};

describe('a schedule declared with calls', () => {
  test('is due when they say', () => {
    expect(first((one) => one.cron('17 4 * * 0'))).toBe('2027-01-03T04:17');
    expect(first((one) => one.cron('@monthly'))).toBe('2027-02-01T00:00');
    expect(first((one) => one.every('15m'))).toBe('2027-01-01T00:15');
    expect(first((one) => one.every('7d'))).toBe('2027-01-07T00:00');
    expect(first((one) => one.everyMinute())).toBe('2027-01-01T00:01');
    expect(first((one) => one.hourlyAt(17))).toBe('2027-01-01T00:17');
    expect(first((one) => one.daily())).toBe('2027-01-02T00:00');
    expect(first((one) => one.daily().at('3:05'))).toBe('2027-01-01T03:05');
    expect(first((one) => one.weekdays())).toBe('2027-01-04T00:00');
    expect(first((one) => one.weekly('wed').at('23:59'))).toBe('2027-01-06T23:59');
    expect(first((one) => one.monthly())).toBe('2027-02-01T00:00');
    expect(first((one) => one.monthly(31).at('12:00'))).toBe('2027-01-31T12:00');
    expect(first((one) => one.timezone('America/New_York').daily().at('03:00'))).toBe('2027-01-01T08:00');
  });

  test('is told in units that people use, as far as they are exact', async () => {
    for (const [span, told] of [
      ['15m', 'every 15 min'],
      ['36h', 'every 1 d 12 h'],
      ['90s', 'every 1 min 30 s'],
      ['3661s', 'every 3661 s'],
    ] as const) {
      application = testApplication();
      schedule().every(span);
      expect((await application.manager.schedules.list())[0]?.declared?.cadence).toBe(told);
    }
  });

  test('has the name of its job unless it is given another', () => {
    schedule().daily();
    schedule(() => new Prune('1d'))
      .everyMinute()
      .name('prune often');
    expect(all().map(({ name }) => name)).toEqual(['Prune', 'prune often']);
  });

  test('is a different schedule if any part of it differs', () => {
    const ways: ((one: PendingSchedule) => PendingSchedule)[] = [
      (one) => one.daily(),
      (one) => one.daily().at('03:00'),
      (one) => one.daily().timezone('Europe/Amsterdam'),
      (one) => one.daily().onQueue('low'),
      (one) => one.daily().onConnection('other'),
      (one) => one.daily().missed('skip'),
      (one) => one.daily().missed('latest', '2h'),
      (one) => one.daily().overlap('allow'),
    ];
    for (const [place, way] of ways.entries()) way(schedule().name(`${place}`));
    expect(new Set(all().map(({ spec }) => spec)).size).toBe(ways.length);
  });

  const mistakes: readonly (readonly [string, (one: PendingSchedule) => unknown, RegExp])[] = [
    ['a day that no calendar has', (one) => one.cron('0 0 31 2 *'), /'0 0 31 2 \*'.*never comes up/],
    ['a string that is not a cron expression', (one) => one.cron('each day'), /'each day'.*five fields/],
    ['a date instead of a cron expression', (one) => one.cron('2027-01-01T03:00:00'), /five fields/],
    ['four fields', (one) => one.cron('0 3 * *'), /weekday\.$/],
    ['seconds in a cron expression', (one) => one.cron('0 0 3 * * *'), /five fields/],
    ['a minute that does not exist', (one) => one.cron('61 * * * *'), /61/],
    ['seconds', (one) => one.cron('*/10 * * * * *'), /no seconds.*every\('10s'\)/],
    ['a value that is not a string', (one) => one.cron(5 as never), /5 is not valid/],
    ['an unknown time zone', (one) => one.timezone('Europe/Amstrdam'), /'Europe\/Amstrdam'.*'Europe\/Amsterdam'/],
    ['an interval below a second', (one) => one.every('500ms'), /'500ms'.*one second/],
    ['at() without a day', (one) => one.at('03:00'), /'03:00'.*daily\(\)/],
    ['at() after a cron expression', (one) => one.cron('0 0 * * *').at('03:00'), /no day/],
    ['a time of day that does not exist', (one) => one.daily().at('24:00'), /'24:00'.*time of day/],
    ['two times', (one) => one.daily().everyMinute(), /a time already/],
    ['a time zone for an interval', (one) => one.every('1h').timezone('Europe/Amsterdam'), /UTC/],
    ['an interval in a time zone', (one) => one.timezone('Europe/Amsterdam').every('1h'), /UTC/],
    ['a minute beyond the hour', (one) => one.hourlyAt(60), /60.*0 to 59/],
    ['a day beyond the month', (one) => one.monthly(32), /32.*1 to 31/],
    ['a day that no week has', (one) => one.weekly('someday' as never), /'someday'.*sun, mon/],
    ['an invalid name', (one) => one.name('a\nb'), /1 to 200 characters/],
    ['a name that is too long for a key', (one) => one.name('a'.repeat(201)), /1 to 200 characters/],
    ['an unknown policy', (one) => one.missed('never' as never), /'latest', 'skip' or 'all'/],
    ['a look-back of zero', (one) => one.missed('latest', 0), /a second or more/],
    ['a look-back of months', (one) => one.missed('all', '60d'), /seven days at most/],
    ['an unknown overlap policy', (one) => one.overlap('queue' as never), /'skip' or 'allow'/],
    ['an empty connection name', (one) => one.onConnection(''), /Name a connection/],
  ];

  test.each(mistakes)('refuses %s in the call that was given it', (_what, call, message) => {
    expect(() => call(schedule())).toThrow(
      expect.objectContaining({ code: 'E_INVALID_SCHEDULE', message: expect.stringMatching(message) as string }),
    );
  });

  test('refuses an invalid interval and an invalid queue', () => {
    expect(() => schedule().every('soon' as never)).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
    expect(() => schedule().onQueue('a,b')).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
  });

  test('refuses a factory that makes no job', () => {
    const refuse = (make: unknown, message: RegExp): void =>
      expect(() => schedule(make as () => object)).toThrow(
        expect.objectContaining({ message: expect.stringMatching(message) as string }),
      );
    refuse(Prune, /\(\) => new Prune\(\)/);
    refuse(new Prune(), /function that makes the job/);
  });

  const wholes: readonly (readonly [string, () => unknown, string, RegExp])[] = [
    ['says no time', () => schedule().name('never'), 'E_INVALID_SCHEDULE', /'never'.*daily\(\)/],
    [
      'gives something that is not a job',
      () => schedule(() => 'prune' as never).daily(),
      'E_INVALID_SCHEDULE',
      /each time:/,
    ],
    ['gives a promise', () => schedule(() => Promise.resolve(new Prune())).daily(), 'E_INVALID_SCHEDULE', /itself/],
    [
      'gives a chain',
      () => schedule(() => application.bus.chain([new Prune()])).daily(),
      'E_INVALID_SCHEDULE',
      /can send the chain/,
    ],
    ['gives an object without @Job()', () => schedule(() => new Date(0)).daily(), 'E_UNDECORATED_JOB', /Date/],
    ['gives a debounced job', () => schedule(() => new Sync()).daily(), 'E_INVALID_SCHEDULE', /debounce/],
    ['gives a job that pushes itself', () => schedule(() => new Own()).daily(), 'E_INVALID_SCHEDULE', /queue\(\)/],
    [
      'skips overlaps and makes up for all missed occurrences',
      () => schedule().daily().missed('all').overlap('skip'),
      'E_INVALID_SCHEDULE',
      /'allow'/,
    ],
  ];

  test.each(wholes)('is refused if it %s, with the place of its declaration', (_what, declare, code, message) => {
    declare();
    expect(() => all()).toThrow(
      expect.objectContaining({
        code,
        message: expect.stringMatching(message) as string,
        stack: expect.stringContaining('declaration.test.ts') as string,
      }),
    );
    expect(all()).toEqual([]);
  });

  test('cannot have the name of another one', () => {
    schedule().daily();
    schedule(() => new Prune('1d')).everyMinute();
    expect(() => all()).toThrow(
      expect.objectContaining({
        code: 'E_DUPLICATE_SCHEDULE',
        message: expect.stringMatching(
          /'Prune'.*declaration\.test\.ts:\d+:\d+ and .*declaration\.test\.ts:\d+:\d+/,
        ) as string,
      }),
    );
  });

  test('cannot be declared repeatedly in a loop under one name', () => {
    for (const age of ['1d', '30d']) schedule(() => new Prune(age)).daily();
    expect(() => all()).toThrow(expect.objectContaining({ code: 'E_DUPLICATE_SCHEDULE' }));
  });

  test('is replaced when its module is evaluated again', () => {
    const evaluate = (age: string): void => void schedule(() => new Prune(age)).daily();
    evaluate('1d');
    expect(all()).toHaveLength(1);
    evaluate('30d');
    expect(application.manager.schedules.all.map(({ parts }) => parts.make())).toEqual([new Prune('30d')]);
  });

  test('is replaced even if its lines have moved since', () => {
    schedule().daily();
    expect(all()).toHaveLength(1);
    schedule().everyMinute();
    expect(application.manager.schedules.all.map(({ parts }) => parts.cadence.text)).toEqual(['* * * * * (UTC)']);
  });

  test('shares its zone data with other schedules', () => {
    for (const name of ['first', 'second']) schedule().daily().timezone('Asia/Tehran').name(name);
    expect(new Set(application.manager.schedules.all.map(({ parts }) => parts.cadence.zone)).size).toBe(1);
  });

  test('is complete at the end of its statement and refuses later calls', async () => {
    const pending = schedule().daily().name('prune');
    await Promise.resolve();
    expect(() => pending.at('03:00')).toThrow(
      expect.objectContaining({ code: 'E_SCHEDULE_DECLARED', facts: { name: 'prune', call: 'at' } }),
    );
    expect(() => pending.onQueue('low')).toThrow(expect.objectContaining({ code: 'E_SCHEDULE_DECLARED' }));
  });

  test('is identified by its place if several have the same mistake', () => {
    const { manager } = application;
    const told = (declare: () => unknown): string => {
      declare();
      try {
        return `none of ${all().length} was refused`;
      } catch (error) {
        return (error as Error).message;
      }
    };

    const refused = [told(() => manager.schedule(() => new Prune())), told(() => manager.schedule(() => new Prune()))];

    const place = /^Queue\.schedule\(\) in \S+declaration\.test\.ts:\d+:\d+: 'Prune' is not valid/;
    expect(refused).toEqual([expect.stringMatching(place), expect.stringMatching(place)]);
    expect(refused[0]).not.toBe(refused[1]);
  });

  test('does not affect the others if it has a mistake', () => {
    schedule();
    schedule().daily();
    schedule().daily().name('prune');
    expect(() => all()).toThrow('It does not say when');
    expect(all().map(({ name }) => name)).toEqual(['Prune', 'prune']);
  });
});

describe('a schedule in @Job()', () => {
  let declared = 0;
  const declare = (options: JobOptions['schedule'], more: JobOptions = {}): void => {
    @Job({ name: `scheduled ${(declared += 1)}`, schedule: options, ...more })
    class Scheduled extends Job {
      handle(): void {}
    }
    void Scheduled;
  };

  const mistakes: readonly (readonly [string, unknown, RegExp])[] = [
    ['no time', {}, /cron or every/],
    ['two times', { cron: '* * * * *', every: '5m' }, /one of the two/],
    ['an unknown key', { cron: '* * * * *', at: '03:00' }, /timezone, name, missed, overlap/],
    ['a string instead of an object', '* * * * *', /an object/],
    ['a day that no calendar has', { cron: '0 0 30 2 *' }, /never comes up/],
    ['an unknown time zone', { cron: '* * * * *', timezone: 'Mars/Olympus' }, /Mars\/Olympus/],
    ['a time zone for an interval', { every: '5m', timezone: 'UTC' }, /UTC/],
    ['an interval below a second', { every: '1ms' }, /one second/],
    ['an unknown policy', { every: '5m', missed: 'some' }, /'latest'/],
    ['a policy with too many values', { every: '5m', missed: ['latest', '1h', '2h'] }, /'latest'/],
    [
      'skipped overlaps together with all missed occurrences',
      { every: '5m', missed: 'all', overlap: 'skip' },
      /'allow'/,
    ],
  ];

  test.each(mistakes)('refuses %s in its declaration', (_what, options, message) => {
    expect(() => declare(options as never)).toThrow(
      expect.objectContaining({ code: 'E_INVALID_JOB_OPTION', message: expect.stringMatching(message) as string }),
    );
  });

  test('refuses a job that takes data, is debounced or pushes itself', () => {
    const refused = expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }) as Error;
    const every = { every: '5m' } as const;
    expect(() => {
      @Job({ schedule: every })
      class Data extends Job {
        constructor(readonly id: number) {
          super();
        }
      }
      @Job({ schedule: every })
      class MoreData extends Data {}
      void MoreData;
    }).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/Data.*takes data \(1\).*Queue\.schedule/) as string,
      }),
    );
    expect(() => {
      class Base extends Job {
        constructor(readonly id: number) {
          super();
        }
      }
      @Job({ schedule: every })
      class Inherits extends Base {}
      void Inherits;
    }).toThrow(refused);
    expect(() => declare(every, { debounce: { wait: '5s' } })).toThrow(refused);
    expect(() => {
      @Job({ schedule: every })
      class Pushes extends Job {
        queue(): void {}
      }
      void Pushes;
    }).toThrow(refused);
  });

  test('refuses a second one with its name', () => {
    declare({ every: '5m', name: 'twice' });
    expect(() => declare({ every: '10m', name: 'twice' })).toThrow(
      expect.objectContaining({ code: 'E_DUPLICATE_SCHEDULE' }),
    );
  });

  test('is not inherited', () => {
    @Job({ schedule: { every: '5m', name: 'parent' } })
    class Parent extends Job {}
    @Job()
    class Child extends Parent {}
    void Child;
    expect(all().filter(({ spec }) => spec.includes('Child'))).toEqual([]);
    expect(all().filter(({ name }) => name === 'parent')).toHaveLength(1);
  });

  test('cannot have the name of one declared with calls', () => {
    declare({ every: '5m', name: 'both ways' });
    schedule().daily().name('both ways');
    expect(() => all()).toThrow(expect.objectContaining({ code: 'E_DUPLICATE_SCHEDULE' }));
  });
});
