/** Several processes on one store and a test clock; records what they send and how they call the store. */
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import type { Connection } from '../../src/connections/contract';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { Job } from '../../src/job/job';
import type { PendingSchedule } from '../../src/schedule/schedule';
import { TestClock } from '../../src/testing/test-clock';
import { RecordingLogger } from '../support/application';

/** What the jobs have recorded: their data, their schedule and their due time. */
export const ran: (readonly [string, string, number])[] = [];

@Job()
export class Prune extends Job {
  constructor(readonly age: string) {
    super();
  }
  handle(): void {
    const { occurrence } = this.job;
    ran.push([this.age, occurrence!.schedule, occurrence!.at.getTime()]);
  }
}

export const prune =
  (declare: (schedule: PendingSchedule) => PendingSchedule, age = '30d') =>
  (manager: QueueManager): PendingSchedule =>
    declare(manager.schedule(() => new Prune(age)).name('prune'));

/** Its clock starts on the hour. */
export class Fleet {
  readonly clock = new TestClock(Date.UTC(2027, 0, 1, 12));
  readonly store = new MemoryStore('main', this.clock);
  readonly log = new RecordingLogger();
  readonly calls: string[] = [];
  readonly #ends: (() => Promise<void>)[] = [];
  /** Can delay, fail or drop calls to the store. */
  fault: (call: string, carryOut: () => Promise<unknown>, given: readonly unknown[]) => Promise<unknown> = (
    _call,
    carryOut,
  ) => carryOut();

  process(...declare: ((manager: QueueManager) => PendingSchedule)[]): QueueManager {
    const connectors = { ...builtInConnectors, memory: () => this.#connection() };
    const manager = new QueueManager(
      { connectors, logger: this.log, clock: this.clock, random: () => 0.5 },
      { connections: { main: { driver: 'memory' }, sync: { driver: 'sync' } }, default: 'main' },
    );
    for (const one of declare) one(manager);
    return manager;
  }

  /** The due times of all waiting jobs, ready or not. */
  async sent(queue = 'default'): Promise<readonly string[]> {
    const connection = new MemoryConnection('main', this.store);
    const pages = await Promise.all(
      (['ready', 'delayed'] as const).map((state) => connection.queues.peek(queue, state, 1000)),
    );
    const all = pages.flat().map(({ payload }) => JSON.parse(payload.toString()) as { occurrence: { at: number } });
    return all.map(({ occurrence }) => new Date(occurrence.at * 1000).toISOString().slice(11, 19)).toSorted();
  }

  /** Returns a function that stops it, as `end` does for all. */
  keep(manager: QueueManager): () => Promise<void> {
    const end = manager.schedules.keep();
    this.#ends.push(end);
    return end;
  }

  async end(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
  }

  #connection(): Connection {
    const real = new MemoryConnection('main', this.store);
    const watched = <T extends object>(target: T, names: readonly (keyof T & string)[]): T => {
      for (const name of names) {
        const carryOut = target[name] as (...given: unknown[]) => Promise<unknown>;
        Object.assign(target, {
          [name]: (...given: unknown[]) => {
            this.calls.push(name);
            return this.fault(name, () => carryOut.apply(target, given), given);
          },
        });
      }
      return target;
    };
    watched(real.records, ['put', 'get', 'list', 'replace']);
    watched(real.keys, ['pushOnce']);
    return watched(real, ['push', 'now']);
  }
}
