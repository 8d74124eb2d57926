/**
 * Rows that another program, a mistaken UPDATE or a broken disk may leave in the table of jobs. The same seed gives the same
 * rows. A worker processes them together with as many good jobs.
 */
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import type { Configuration } from '../../../src/application/configuration/configuration';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { soakSize } from '../../support/soak-size';

const ROWS = soakSize(200);
const SEED = 20_261_122;

let ran: Map<string, number>;

@Job({ tries: 3, name: 'FuzzedRow' })
class FuzzedRow extends Job {
  constructor(readonly key: string) {
    super();
  }
  handle(): void {
    ran.set(this.key, (ran.get(this.key) ?? 0) + 1);
  }
}

export type Value = string | number | bigint | Buffer | null;
export type FuzzRow = Readonly<Record<string, Value>>;

const text = (key: string): string =>
  `{"displayName":"FuzzedRow","job":"onqueue","data":{"commandName":"FuzzedRow","command":{"key":"${key}"}},"id":"${key}","attempts":0}`;

const NUMBERS: readonly Value[] = [
  null,
  0,
  -1,
  -9_000_000_000_000_000,
  1,
  2,
  127,
  255,
  32_767,
  65_535,
  2_147_483_647,
  4_294_967_295,
  9_007_199_254_740_991n,
  9_007_199_254_740_993n,
  9_223_372_036_854_775_806n,
  9_223_372_036_854_775_807n,
  -9_223_372_036_854_775_808n,
  1.5,
  1e300,
  -1e300,
  'abc',
  '',
  '12',
];

const payloads = (key: string): readonly Value[] => [
  '',
  'null',
  '[]',
  '{}',
  '{',
  `${text(key)} `,
  `${text(key)}\0`,
  text(key).slice(0, -1),
  text(key).replace(',"attempts":0', ''),
  text(key).replace('"attempts":0', '"attempts":9007199254740993'),
  text(key).replace('"attempts":0', '"attempts":-3'),
  text(key).replace('"attempts":0', '"attempts":"many"'),
  text(key).replace(`,"id":"${key}"`, ''),
  text(key).replace(`"id":"${key}"`, '"id":17'),
  text(key).replace(`"id":"${key}"`, `"id":"${'i'.repeat(3000)}"`),
  text(key).replace('FuzzedRow', 'Nobody'),
  `{"x":"${'y'.repeat(200_000)}"}`,
  Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  Buffer.concat([Buffer.from(text(key).slice(0, -1)), Buffer.from([0xc3]), Buffer.from('}')]),
  42,
  null,
];

const COLUMNS: Readonly<Record<string, (key: string) => readonly Value[]>> = {
  payload: payloads,
  attempts: () => NUMBERS,
  reserved_at: () => NUMBERS,
  available_at: () => NUMBERS,
  created_at: () => NUMBERS,
  crashes: () => NUMBERS,
  exceptions: () => NUMBERS,
  timeouts: () => NUMBERS,
  releases: () => NUMBERS,
  cancelled: () => [1, 0, null, 'true', 'f', 7],
  place: () => NUMBERS,
  due_at: () => [...NUMBERS, 'NaN', 'Infinity', '-Infinity'],
  lease_until: () => [...NUMBERS, 'NaN', 'Infinity', '-Infinity'],
  holder: () => ['', 'nobody', null],
  uuid: (key) => [null, '', key, 'another', 'x'.repeat(300)],
};

/** The generator of Numerical Recipes, which is good enough for choosing. */
class Dice {
  #state = SEED;

  roll(sides: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * sides);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.roll(items.length)]!;
  }
}

/** @param columns the columns of the table */
function fuzzedRows(columns: readonly string[]): readonly FuzzRow[] {
  const dice = new Dice();
  const known = Object.keys(COLUMNS).filter((column) => columns.includes(column));
  return Array.from({ length: ROWS }, (_, number) => {
    const key = `bad-${number}`;
    const row: Record<string, Value> = {
      queue: 'default',
      payload: text(key),
      attempts: 0,
      available_at: 0,
      created_at: 0,
    };
    for (let changes = 1 + dice.roll(3); changes > 0; changes -= 1) {
      const column = dice.pick(known);
      row[column] = dice.pick(COLUMNS[column]!(key));
    }
    return row;
  });
}

export interface FuzzedTable {
  readonly configuration: Configuration;
  readonly columns: readonly string[];
  /** Rejects if the database refuses the row. */
  readonly insert: (row: FuzzRow) => Promise<unknown>;
}

export interface Account {
  /** Rows that the database accepted. */
  readonly rows: number;
  /** The rows whose jobs ran. */
  readonly ran: number;
  readonly cancelled: number;
  readonly failed: number;
  /** Rows delayed until a distant time, or with a lease whose end is unknown. */
  readonly left: number;
}

/** Works the rows off among as many good jobs, all of which run. */
export async function workOff({ configuration, columns, insert }: FuzzedTable): Promise<Account> {
  ran = new Map();
  const log = new RecordingLogger();
  const manager = new QueueManager({ connectors: builtInConnectors, logger: log }, configuration);
  const bus = new JobBus(() => manager);
  const worker = new Worker({ concurrency: 10, sleep: '100ms' }, manager);
  const good = Array.from({ length: ROWS }, (_, number) => `good-${number}`);
  const store = manager.driver();
  let rows = 0;
  try {
    await bus.bulk(good.slice(0, ROWS / 2).map((key) => new FuzzedRow(key)));
    for (const row of fuzzedRows(columns)) {
      rows += await insert(row).then(
        () => 1,
        () => 0,
      );
    }
    await bus.bulk(good.slice(ROWS / 2).map((key) => new FuzzedRow(key)));
    for (const state of ['ready', 'delayed', 'reserved'] as const) await store.queues.peek!('default', state, 1000);
    const ended = worker.run();
    await eventually(() => good.every((key) => ran.get(key) === 1), { deadline: 150_000, of: 'every good job' });
    await eventually(async () => (await store.queues.counts('default')).ready === 0, {
      deadline: 150_000,
      of: 'an empty line',
    });
    // Later jobs are served as usual.
    await bus.dispatch(new FuzzedRow('last'));
    await eventually(() => ran.has('last'));
    await eventually(() => worker.health().running === 0);
    expect(worker.health()).toMatchObject({ ready: true, outcomes: { lost: 0 } });
    await worker.stop();
    await ended;
    const { ready, delayed, reserved } = await store.queues.counts('default');
    const bad = [...ran].filter(([key]) => key.startsWith('bad-'));
    expect(bad.filter(([, runs]) => runs !== 1)).toEqual([]);
    return {
      rows,
      ran: bad.length,
      cancelled: worker.health().outcomes.cancelled,
      failed: (await manager.failed.list({ limit: 10_000 })).length,
      left: ready + delayed + reserved,
    };
  } finally {
    await worker.stop();
    await manager.close();
  }
}

export function expectAllAccounted({ rows, ran: run, cancelled, failed, left }: Account): void {
  expect(rows).toBeGreaterThan(ROWS / 2);
  expect(run).toBeGreaterThan(ROWS / 4);
  expect({ run, cancelled, failed, left, sum: run + cancelled + failed + left }).toMatchObject({ sum: rows });
}
