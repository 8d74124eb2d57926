/**
 * Which process keeps which schedules: each process reports every few seconds, and is forgotten a minute after its last
 * report. If two versions of a program run, as during a deploy, the process that was started last decides about a schedule.
 */
import type { Clock, Milliseconds, Seconds } from '../base/clock';
import type { RecordStore } from '../connections/record-store';
import type { OperationsConnection } from '../operations/operations-connection';
import { fieldsIn, isRecord } from '../payload/values';
import { uuidv7 } from '../payload/uuid';
import type { Schedule } from './schedule';

const KIND = 'schedulekeeper';
const REMEMBERED: Seconds = 60;
/** Most processes that are remembered, those that reported last. */
const MOST = 1000;

interface Keeper {
  readonly id: string;
  /** When it began, by the store's clock. */
  readonly since: Milliseconds;
  /** The digest of each schedule by its name. */
  readonly schedules: Readonly<Record<string, string>>;
}

/** The names of the schedules that some live process keeps. */
export async function keptNames(records: RecordStore): Promise<ReadonlySet<string>> {
  return new Set((await keepersIn(records)).flatMap(({ schedules }) => Object.keys(schedules)));
}

/** This process's own report in one store. */
export class OwnKeeping {
  readonly #id = uuidv7();
  readonly #operations: OperationsConnection;
  readonly #clock: Clock;
  #since: Milliseconds | undefined;
  #toldAt: Milliseconds = -Infinity;
  #others: readonly Keeper[] = [];

  constructor(operations: OperationsConnection, clock: Clock) {
    this.#operations = operations;
    this.#clock = clock;
  }

  /** Reports, and reads the reports of the others, unless that was done within the last `recently` milliseconds. */
  async tell(schedules: readonly Schedule[], recently: Milliseconds): Promise<void> {
    if (this.#clock.monotonic() - this.#toldAt < recently) return;
    const { records } = this.#operations;
    this.#since ??= (await this.#operations.now?.()) ?? this.#clock.now();
    const digests = Object.fromEntries(schedules.map(({ name, digest }) => [name, digest]));
    const value = JSON.stringify({ since: this.#since, schedules: digests });
    await records.put([{ kind: KIND, id: this.#id, value }], REMEMBERED, MOST);
    this.#others = (await keepersIn(records)).filter(({ id }) => id !== this.#id);
    this.#toldAt = this.#clock.monotonic();
  }

  /** Whether another process decides about it, and declares it differently. */
  isOutdated({ name, digest }: Schedule): boolean {
    let last: Keeper = { id: this.#id, since: this.#since ?? -Infinity, schedules: { [name]: digest } };
    for (const other of this.#others) {
      if (!Object.hasOwn(other.schedules, name)) continue;
      if (other.since > last.since || (other.since === last.since && other.id > last.id)) last = other;
    }
    return last.schedules[name] !== digest;
  }

  async end(): Promise<void> {
    if (this.#since !== undefined) await this.#operations.records.put([{ kind: KIND, id: this.#id, value: '' }], 0);
  }
}

async function keepersIn(records: RecordStore): Promise<readonly Keeper[]> {
  const found = await records.list(KIND, { limit: MOST });
  return found.map(({ id, value }) => keeperOf(id, value)).filter((keeper) => keeper !== undefined);
}

/** Undefined if another version or somebody else wrote it. It must not keep any schedule from being sent. */
function keeperOf(id: string, text: string): Keeper | undefined {
  const { since, schedules } = fieldsIn(text) ?? {};
  const isKeeper = typeof since === 'number' && isRecord(schedules);
  return isKeeper ? { id, since, schedules: schedules as Keeper['schedules'] } : undefined;
}
