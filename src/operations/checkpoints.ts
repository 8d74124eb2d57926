/**
 * What a job with `checkpoints` keeps for its next attempt: what its steps gave, and how far it has come. One record for each job.
 *
 * Each write replaces the very text that was read or written before, and carries the fence of its run. A run that is not the first
 * writes its fence before it starts, so a worker that was frozen meanwhile can set nothing back.
 */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';
import type { Application } from '../connections/application';
import { LONGEST_ID, type RecordStore } from '../connections/record-store';
import { checkpointTooLarge, duplicateStep, invalidStep } from '../job/errors';
import { stepName, type JobContext } from '../job/job-context';
import type { JobRegistry } from '../job/registry';
import { encodeValue, type Types } from '../payload/encoder';
import { decodeValue } from '../payload/envelope';
import { fieldsIn, isRecord } from '../payload/values';
import type { Seals } from '../payload/vault';
import { hash } from 'node:crypto';

const KIND = 'checkpoint';
const KEPT: Seconds = 7 * 24 * 60 * 60;
/** Bytes of a record. */
const MOST_BYTES = 64 * 1024;
/** Cursors are not written more often. */
const PAUSE: Milliseconds = 1000;
/** A write that meets a changed record is tried again with what is there: only an earlier run can have changed it, and not often. */
const MOST_TRIES = 5;

/** One step or cursor, as it is stored. */
interface Kept {
  readonly name: string;
  /** When it was kept, by the worker's clock. */
  readonly at: Milliseconds;
  /** How long a step took. */
  readonly ms?: Milliseconds;
  /** The rest, of an encrypted job. */
  readonly sealed?: string | undefined;
  readonly command?: unknown;
  readonly types?: Types | undefined;
  readonly versions?: Readonly<Record<string, number>> | undefined;
}

interface CheckpointRecord {
  readonly fence: number;
  readonly steps: readonly Kept[];
  readonly cursors: readonly Kept[];
}

/** A step that is done, for display: what it gave is the job's business. */
export interface FoundStep {
  readonly name: string;
  /** When it was done, by the worker's clock. */
  readonly at: Date;
  /** How long it took. */
  readonly ms: Milliseconds;
}

/** One store may keep the records of several connections, and an id be long. */
function recordId(connection: string, id: string): string {
  const whole = `${connection}:${id}`;
  return whole.length <= LONGEST_ID ? whole : hash('sha256', whole, 'hex');
}

/** Undefined if there is no such record: none at all, or a text that somebody else has written. */
function readRecord(text: string | undefined): CheckpointRecord | undefined {
  const { fence, steps, cursors } = fieldsIn(text) ?? {};
  if (typeof fence !== 'number' || !Array.isArray(steps) || !Array.isArray(cursors)) return undefined;
  return { fence, steps: steps.filter(isKept), cursors: cursors.filter(isKept) };
}

const isKept = (entry: unknown): entry is Kept =>
  isRecord(entry) && typeof entry['name'] === 'string' && typeof entry['at'] === 'number';

/** The steps that a job has done. Undefined if none are kept. */
export async function stepsOf(
  records: RecordStore,
  connection: string,
  id: string,
): Promise<readonly FoundStep[] | undefined> {
  const read = readRecord(await records.get(KIND, recordId(connection, id)));
  if (read === undefined || read.steps.length === 0) return undefined;
  return read.steps.map(({ name, at, ms = 0 }) => ({ name, at: new Date(at), ms }));
}

/** The next attempt of these jobs, if there is one, starts from the beginning. @param ids up to 100 */
export async function forgetCheckpoints(
  records: RecordStore,
  connection: string,
  ids: readonly string[],
): Promise<void> {
  const removed = ids.map((id) => ({ kind: KIND, id: recordId(connection, id), value: '' }));
  await records.put(removed, 0);
}

/** For jobs that ended without a run, and will have none. Never rejects: what cannot be removed expires. @param ids up to 100 */
export async function dropCheckpoints(
  application: Application,
  connection: string,
  ids: readonly string[],
): Promise<void> {
  try {
    const records = application.operationsOf(application.driver(connection))?.records;
    if (records !== undefined) await forgetCheckpoints(records, connection, ids);
  } catch {
    // The store is away, or its connection is not configured any more.
  }
}

export interface CheckpointSettings {
  readonly job: Pick<JobContext, 'name' | 'id' | 'fence' | 'connectionName' | 'progress'>;
  readonly registry: JobRegistry;
  readonly clock: Clock;
  /** For an encrypted job: seals the values. */
  readonly seals?: Seals | undefined;
  /** How many steps the job has, if it says so. */
  readonly steps?: number | undefined;
  /** Undefined: the job never comes back, so what it keeps stays in memory. */
  readonly store?: CheckpointStore | undefined;
}

export interface CheckpointStore {
  readonly records: RecordStore;
  /** @throws the reason why this run may keep nothing more */
  readonly checkOpen: () => Promise<void>;
  /** Asks the store of the job whether it is still this run's. */
  readonly isOurs: () => Promise<boolean>;
  /** The error of a run whose job somebody else has. */
  readonly lost: () => Error;
}

/** The steps and cursors of one run. */
export class Checkpoints {
  readonly #settings: CheckpointSettings;
  readonly #id: string;
  /** By name, as they are stored. */
  readonly #steps = new Map<string, string>();
  readonly #cursors = new Map<string, string>();
  /** The steps of this run. */
  readonly #met = new Set<string>();
  #done = 0;
  /** The record as we know it. */
  #stored: string | undefined;
  #writing: Promise<void> = Promise.resolve();
  #writtenAt: Milliseconds = -Infinity;
  #timer: Timer | undefined;

  constructor(settings: CheckpointSettings) {
    this.#settings = settings;
    this.#id = recordId(settings.job.connectionName, settings.job.id);
  }

  /** Before a run that is not the first: takes over what earlier ones have kept. @throws what the store throws; `lost` */
  async takeOver(): Promise<void> {
    const { store } = this.#settings;
    if (store === undefined) return;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const there = await store.records.get(KIND, this.#id);
      this.#checkFence(store, there);
      this.#adopt(there);
      if (await this.#replaced(store, there)) return;
    }
    throw store.lost();
  }

  stepKey(name: string): string {
    const { job } = this.#settings;
    return `${job.id}:${stepName(job.name, 'stepKey()', name)}`;
  }

  async step<T>(name: string, run: () => T | PromiseLike<T>): Promise<T> {
    const { job, clock } = this.#settings;
    stepName(job.name, 'step()', name);
    if (typeof run !== 'function') throw invalidStep(job.name, 'step()', run, 'Give a function: step(name, () => …).');
    if (this.#met.has(name)) throw duplicateStep(job.name, job.id, name);
    this.#met.add(name);
    try {
      await this.#settings.store?.checkOpen();
      const kept = this.#steps.get(name);
      if (kept !== undefined) {
        const value = this.#valueOf(kept, name) as T;
        this.#tellProgress(name);
        return value;
      }
      const from = clock.monotonic();
      const value = await run();
      await this.#settings.store?.checkOpen();
      this.#keep(this.#steps, name, value, Math.round(clock.monotonic() - from));
      await this.#written();
      this.#tellProgress(name);
      return value;
    } catch (error) {
      // The job may try it again within this run.
      this.#met.delete(name);
      throw error;
    }
  }

  async checkpoint(name: string, value: unknown): Promise<void> {
    const { job, clock, store } = this.#settings;
    this.#keep(this.#cursors, stepName(job.name, 'checkpoint()', name), value);
    const pause = this.#writtenAt + PAUSE - clock.monotonic();
    await store?.checkOpen();
    if (pause <= 0) return this.#written();
    // Also if the job keeps nothing more for a long time. If it fails, the next call tries again, and says why.
    this.#timer ??= clock.after(pause, () => {
      this.#timer = undefined;
      void this.#written().catch(() => undefined);
    });
  }

  checkpointed(name: string): unknown {
    const kept = this.#cursors.get(stepName(this.#settings.job.name, 'checkpointed()', name));
    return kept === undefined ? undefined : this.#valueOf(kept, name);
  }

  /** The run has ended. `isOver`: so has the job; otherwise the next attempt finds everything. @throws what the store throws; `lost` */
  async end(isOver: boolean): Promise<void> {
    this.#timer?.cancel();
    if (!isOver) await this.#written();
  }

  /** The end of the job is stored: nobody needs the record any more. @throws what the store throws */
  async forget(): Promise<void> {
    const { store, job } = this.#settings;
    await this.#writing.catch(() => undefined);
    if (store !== undefined && this.#stored !== undefined)
      await forgetCheckpoints(store.records, job.connectionName, [job.id]);
  }

  /** One write at a time; it takes along all that is kept by then. */
  #written(): Promise<void> {
    const write = (): Promise<void> => this.#write();
    return (this.#writing = this.#writing.then(write, write));
  }

  async #write(): Promise<void> {
    const { store, clock } = this.#settings;
    this.#writtenAt = clock.monotonic();
    if (store === undefined) return;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      if (this.#text() === this.#stored || (await this.#replaced(store, this.#stored))) return;
      const there = await store.records.get(KIND, this.#id);
      this.#checkFence(store, there);
      // Either somebody has removed it, or another run has ended the job.
      if (there === undefined && !(await store.isOurs())) throw store.lost();
      this.#stored = there;
    }
    throw store.lost();
  }

  async #replaced({ records }: CheckpointStore, expected: string | undefined): Promise<boolean> {
    const value = this.#text();
    const isWritten = await records.replace({ kind: KIND, id: this.#id, value }, expected, KEPT);
    if (isWritten) this.#stored = value;
    return isWritten;
  }

  #checkFence({ lost }: CheckpointStore, text: string | undefined): void {
    if ((readRecord(text)?.fence ?? 0) > this.#settings.job.fence) throw lost();
  }

  #adopt(text: string | undefined): void {
    const { steps = [], cursors = [] } = readRecord(text) ?? {};
    for (const [kept, entries] of [
      [this.#steps, steps],
      [this.#cursors, cursors],
    ] as const) {
      kept.clear();
      for (const entry of entries) kept.set(entry.name, JSON.stringify(entry));
    }
  }

  /** @throws UnserializableValueError, E_CHECKPOINT_TOO_LARGE */
  #keep(kept: Map<string, string>, name: string, value: unknown, ms?: Milliseconds): void {
    const { job, clock } = this.#settings;
    const before = kept.get(name);
    kept.set(name, this.#textOf({ name, at: clock.now(), ms }, value));
    const bytes = Buffer.byteLength(this.#text());
    if (bytes <= MOST_BYTES) return;
    if (before === undefined) kept.delete(name);
    else kept.set(name, before);
    throw checkpointTooLarge(job.name, job.id, name, bytes, MOST_BYTES);
  }

  #text(): string {
    const list = (kept: ReadonlyMap<string, string>): string => [...kept.values()].join(',');
    return `{"fence":${this.#settings.job.fence},"steps":[${list(this.#steps)}],"cursors":[${list(this.#cursors)}]}`;
  }

  // The only two that know the form of a value in the record.
  #textOf(
    entry: { readonly name: string; readonly at: Milliseconds; readonly ms: Milliseconds | undefined },
    value: unknown,
  ): string {
    const { job, registry, seals } = this.#settings;
    const encoded = encodeValue(value, registry, `${job.name} '${entry.name}'`);
    const sealed = seals?.seal(JSON.stringify(encoded), `checkpoint ${entry.name}`);
    return JSON.stringify({ ...entry, ...(sealed === undefined ? encoded : { sealed }) });
  }

  /** @throws InvalidPayloadError, UnknownClassError, PayloadVersionError, UnknownKeyError, E_TAMPERED_PAYLOAD another version of the program has kept it */
  #valueOf(text: string, name: string): unknown {
    const { seals, registry } = this.#settings;
    const kept = JSON.parse(text) as Kept;
    const isOpen = seals === undefined || kept.sealed === undefined;
    const { command, types, versions } = isOpen
      ? kept
      : (JSON.parse(seals.open(kept.sealed, `checkpoint ${name}`)) as Kept);
    return decodeValue(command, types, registry, `/${name}`, versions);
  }

  #tellProgress(name: string): void {
    const { job, steps } = this.#settings;
    this.#done += 1;
    if (steps !== undefined) job.progress(Math.min(1, this.#done / steps), name);
  }
}
