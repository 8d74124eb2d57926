/**
 * Schedules that a program makes while it runs, for its users: `Queue.schedules.put()`. Each is a record in the store that keeps the
 * records of its job's connection: when it is due, and the job as a payload, from which each occurrence makes its own.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Application, OperationsConnection } from '../connections/application';
import { recordsOf, type RecordStore } from '../connections/record-store';
import { choose, chosenOf } from '../job/choices';
import type { Middleware } from '../job/middleware';
import { placeOf } from '../job/option-kinds';
import type { ScheduleOptions } from '../job/options';
import type { JobInstance } from '../job/registry';
import { separate } from '../payload/entities';
import { decodeEnvelope, decodeJob, decodeMiddleware, type Envelope } from '../payload/envelope';
import { PayloadVersionError, UnknownClassError, UnknownKeyError } from '../payload/errors';
import { fieldsIn } from '../payload/values';
import { scheduleName, timing } from './cadence';
import { invalidSchedule, tooManySchedules } from './errors';
import { clockOf, destinationOf, forgetState, MOST_TRIES } from './occurrence';
import { Schedule, scheduledName } from './schedule';

/** When a stored schedule is due; its name is said by `put()`. */
export type StoredScheduleOptions = Omit<ScheduleOptions, 'name'>;

const KIND = 'planned';
/** Counted from when it was last put, or renewed by a worker that keeps it. */
const KEPT: Seconds = 365 * 24 * 3600;
/** Each look of each worker reads all of them. */
const MOST = 1000;
const MOST_BYTES = 16 * 1024;

/** What was read of one record. */
interface Read {
  readonly text: string;
  /** Undefined if nobody can make sense of it. */
  readonly schedule: Schedule | undefined;
}

export class StoredSchedules {
  readonly #application: Application;
  /** By name. One that has not changed is the same object in the next look. */
  readonly #read = new WeakMap<OperationsConnection, ReadonlyMap<string, Read>>();

  constructor(application: Application) {
    this.#application = application;
  }

  /** A record that makes no sense is reported, once, and does not hold up the others. */
  async in(operations: OperationsConnection): Promise<readonly Schedule[]> {
    const before = this.#read.get(operations);
    const found = new Map<string, Read>();
    for await (const { id, value } of recordsOf(operations.records, KIND)) {
      const known = before?.get(id);
      found.set(id, known?.text === value ? known : { text: value, schedule: this.#readable(id, value) });
    }
    this.#read.set(operations, found);
    return [...found.values()].flatMap(({ schedule }) => schedule ?? []);
  }

  /**
   * Whether it stands in the store as it was read; then it is kept for another year. Whoever is about to write its state asks, so that
   * nothing is written for one that was changed or removed meanwhile.
   */
  static isStill(records: RecordStore, name: string, text: string): Promise<boolean> {
    return records.replace({ kind: KIND, id: name, value: text }, text, KEPT);
  }

  /** False if there was none. */
  static async remove(records: RecordStore, name: string): Promise<boolean> {
    if ((await records.get(KIND, name)) === undefined) return false;
    await records.put([{ kind: KIND, id: name, value: '' }], 0);
    await forgetState(records, name);
    return true;
  }

  /**
   * Returns where it is kept.
   *
   * @throws E_INVALID_SCHEDULE, E_INVALID_DURATION, E_TOO_MANY_SCHEDULES, E_NO_RECORDS, CapabilityError, what is wrong with the job, and
   * what its store throws
   */
  async put(
    name: string,
    options: StoredScheduleOptions,
    job: JobInstance,
    refuse: (operations: OperationsConnection) => Promise<void>,
  ): Promise<OperationsConnection> {
    const place = placeOf('Queue.schedules.put()', invalidSchedule);
    scheduleName(name, place);
    if (options !== null && typeof options === 'object' && 'name' in options)
      throw place.refuse(options, 'the name is said before the options; leave it out');
    const { cadence, ...rest } = timing(options, place);
    const application = this.#application;
    const jobName = scheduledName(job, application.registry, place);
    const { queue } = chosenOf(job);
    const { connection } = application.encoder.route(job, {});
    const schedule = new Schedule({
      cadence,
      ...rest,
      name,
      job: jobName,
      connection,
      queue,
      make: () => job,
      origin: ORIGIN,
    });
    const destination = destinationOf(schedule, application);
    const { operations } = destination;
    await refuse(operations);
    const now = await clockOf(destination, application);
    // As an occurrence, so that all that could be wrong with one is found now.
    const encoded = application.encoder.encode(job, { connection, occurrence: { schedule: name, at: now } });
    encoded.observed?.drop();
    const { payload } = encoded.entry;
    const text = (since: Milliseconds): string => JSON.stringify({ options, since, connection, queue, payload });
    if (Buffer.byteLength(text(now)) > MOST_BYTES)
      throw place.refuse(
        name,
        `its job has more than ${MOST_BYTES} bytes; let it carry an id, and read the rest when it runs`,
      );
    const { records } = operations;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const before = await records.get(KIND, name);
      if (before === undefined) await checkRoom(records);
      const old = before === undefined ? undefined : this.#readable(name, before);
      // If it is due at the same times as before, no occurrence is left out.
      const since = old?.parts.cadence.text === cadence.text ? (old.parts.stored?.since ?? now) : now;
      if (await records.replace({ kind: KIND, id: name, value: text(since) }, before, KEPT)) break;
    }
    return operations;
  }

  #readable(name: string, text: string): Schedule | undefined {
    try {
      return this.#made(name, text);
    } catch (error) {
      this.#application.report(error, { during: `reading the stored schedule '${name}'` });
      return undefined;
    }
  }

  #made(name: string, text: string): Schedule {
    const place = placeOf(`the stored schedule '${name}'`, invalidSchedule);
    const { options, since, connection, queue, payload } = fieldsIn(text) ?? {};
    if (typeof since !== 'number' || typeof connection !== 'string' || typeof payload !== 'string')
      throw place.refuse(name, 'it was not written by put(); put it again, or remove it');
    const chosen = typeof queue === 'string' ? queue : undefined;
    const job = decodeEnvelope(Buffer.from(payload)).name;
    const make = (): object => this.#job(decodeEnvelope(Buffer.from(payload)), chosen);
    const stored = { since, text };
    return new Schedule({
      ...timing(options, place),
      name,
      job,
      connection,
      queue: chosen,
      make,
      origin: ORIGIN,
      stored,
    });
  }

  /** @throws what `isForOthers` knows, and E_TAMPERED_PAYLOAD */
  #job(envelope: Envelope, queue: string | undefined): object {
    const { registry, vault } = this.#application;
    const definition = envelope.definitionIn(registry);
    if (definition === undefined) throw new UnknownClassError(envelope.name, '/data/commandName');
    const job = decodeJob(envelope, definition, registry, vault, {});
    const middleware = decodeMiddleware(envelope, registry, vault, {}) as Middleware[];
    separate(job);
    separate(middleware);
    choose(job, { ...(queue !== undefined && { queue }), ...(middleware.length > 0 && { middleware }) });
    return job;
  }
}

const ORIGIN = 'stored';

/** Another process may be able to make its job: it has the class, a later version of it, or the key. */
export function isForOthers(error: unknown): boolean {
  return [UnknownClassError, PayloadVersionError, UnknownKeyError].some((kind) => error instanceof kind);
}

/** @throws E_TOO_MANY_SCHEDULES */
async function checkRoom(records: RecordStore): Promise<void> {
  let count = 0;
  for await (const _ of recordsOf(records, KIND)) count += 1;
  if (count >= MOST) throw tooManySchedules(MOST);
}
