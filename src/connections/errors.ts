/** Errors between a connection and its store; the same for all drivers. */
import type { Seconds } from '../base/clock';
import { defineError, errorClass } from '../base/onqueue-error';
import { valueText } from '../base/text';
import type { BatchEnd } from './batch-store';
import { driversWith, type Capability } from './driver';

export interface Unavailability {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** The kind of store, for display: `Redis`, `SQLite`, … */
  readonly store: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  /** What was not done because of it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
  /** How long we waited; absent: it refused at once. */
  readonly deadline?: Seconds | undefined;
  /** It answered, but refused to serve; absent: it was silent. */
  readonly refused?: boolean | undefined;
  /** The words of the store or the system: `WRONGPASS invalid username-password pair`. */
  readonly reason?: string | undefined;
  /** The call was sent but its answer never came: it may have been carried out all the same. */
  readonly uncertain?: boolean | undefined;
  /** Where the address came from, as a clause, if not from the configuration: `REDIS_URL came from the environment`. */
  readonly origin?: string | undefined;
  /** What to look at, as a sentence; absent: `Is it running?`. */
  readonly remedy?: string | undefined;
}

/** Which store did not do what. */
export type Unserved = Pick<Unavailability, 'connection' | 'address' | 'consequence'>;

/** The store did not answer in time or at all, or refused to serve. */
export class QueueUnavailableError extends errorClass(
  'E_QUEUE_UNAVAILABLE',
  (facts: Unavailability, { cause }: ErrorOptions = {}) => {
    const silence = facts.deadline === undefined ? 'cannot be reached' : `did not answer in ${facts.deadline} s`;
    const state = facts.refused === true ? 'refused' : silence;
    const reason = facts.reason === undefined ? '' : ` (${facts.reason})`;
    const doubt = facts.uncertain === true ? ', unless only its answer was lost' : '';
    const origin = facts.origin === undefined ? '' : ` ${facts.origin}.`;
    const remedy = facts.remedy ?? 'Is it running?';
    return {
      message: `${facts.store} at ${facts.address} ${state}${reason}; ${facts.consequence}${doubt}. ${remedy}${origin}`,
      facts,
      cause,
    };
  },
) {}

/** Whether the store serves nobody, or not us. Otherwise it refused what it was sent. */
export function isStoreAway(error: unknown): error is QueueUnavailableError {
  return error instanceof QueueUnavailableError;
}

const CAPABILITY_MEANING: Readonly<Record<Capability, string>> = {
  delay: 'hold jobs back until a moment',
  moments: 'judge moments by the clock of its store',
  reserve: 'hand jobs to a worker',
  renew: 'renew leases',
  exactCounts: 'count jobs exactly',
  order: 'hand jobs out in the order in which they were pushed',
  requeue: 'put a returning job at the tail of its queue',
  clear: 'clear a queue',
  peek: 'show waiting jobs',
  find: 'find jobs by their ids',
  failed: 'keep failed jobs',
  locks: 'hold locks',
  follows: 'write following jobs in the same step as an outcome',
  keys: 'keep unique or debounced jobs',
  batches: 'keep batches',
  lanes: 'keep lanes',
  control: 'cancel jobs, pause queues or restart workers',
  reschedule: 'move delayed jobs to another moment',
  limits: 'limit how many jobs of a queue run at a time',
  records: 'keep records',
  recordWake: 'wake those who wait for a record',
  transactions: 'push within a transaction of yours',
};

/** Things that a connection without the capability cannot keep. */
const KEPT: { readonly [C in Capability]?: string } = {
  keys: 'unique or debounced jobs',
  batches: 'batches',
  lanes: 'lanes',
};

/** A connection was asked for something that its driver cannot do. `job`: the class of the job that needs it. */
export class CapabilityError extends errorClass(
  'E_CAPABILITY',
  (connection: string, driver: string, capability: Capability, job?: string) => {
    const drivers = driversWith(capability).filter((able) => able !== driver);
    const kept = KEPT[capability];
    const needed = job === undefined ? '' : `, which ${job} needs`;
    return {
      message: kept
        ? `The connection '${connection}' (${driver}) keeps no ${kept}; put ${job ?? 'this one'} on a connection of a driver that does: ${drivers.join(', ')}.`
        : `Connection '${connection}' cannot ${CAPABILITY_MEANING[capability]}${needed}: the driver '${driver}' lacks the capability ` +
          `'${capability}'. Drivers that have it: ${drivers.join(', ')}.`,
      facts: { connection, driver, capability, drivers, ...(job !== undefined && { job }) },
    };
  },
) {}

/** `laterRaw` was given a text that already waits as delayed: a sorted set would silently merge the two jobs. */
export class DuplicatePayloadError extends errorClass(
  'E_DUPLICATE_PAYLOAD',
  (connection: string, queue: string, payload: string) => {
    const bytes = Buffer.byteLength(payload);
    return {
      message:
        `Queue '${queue}' of connection '${connection}' already holds this very payload (${bytes} bytes) as delayed; it was ` +
        'not queued a second time. Give each payload an "id" of its own, or send it with pushRaw.',
      facts: { connection, queue, bytes },
    };
  },
) {}

const BATCH_ENDS: Readonly<Record<BatchEnd, string>> = {
  finished: 'has finished: none of its jobs was left',
  cancelled: 'was cancelled',
  unknown: 'is not known: it was pruned, or is kept elsewhere',
};

/** A batch was given more jobs, but takes no more. */
export const batchEnded = defineError('E_BATCH_ENDED', (connection: string, batch: string, end: BatchEnd) => ({
  message:
    `The batch ${batch} on connection '${connection}' ${BATCH_ENDS[end]}; it takes no more jobs. ` +
    (end === 'finished' ? 'Add jobs from within one of its own, or begin another batch.' : 'Begin another batch.'),
  facts: { connection, batch, end },
}));

/** The connection was used after `close()`. */
export class ConnectionClosedError extends errorClass(
  'E_CONNECTION_CLOSED',
  (connection: string, operation: string) => ({
    message:
      `${operation} came after connection '${connection}' was closed; nothing was done. ` +
      'Call Queue.close() last, when all that dispatches or works has ended.',
    facts: { connection, operation },
  }),
) {}

/** A job is larger than its connection takes: refused when it is dispatched, or sent back from the failed jobs. */
export class PayloadTooLargeError extends errorClass(
  'E_PAYLOAD_TOO_LARGE',
  (job: string, connection: string, size: number, limit: number) => ({
    message:
      `${job} was not queued: its text has ${sizeText(size)}, and connection '${connection}' takes up to ${sizeText(limit)}. ` +
      'Pass an id and load the data in handle(), or raise maxPayload in the configuration.',
    /** `size` and `limit` in bytes. */
    facts: { job, connection, size, limit },
  }),
) {}

function sizeText(bytes: number): string {
  const [unit, divisor] = bytes < 1024 * 1024 ? ['kB', 1024] : ['MB', 1024 * 1024];
  return `${bytes.toLocaleString('en-US')} bytes (${Math.round((bytes / divisor) * 10) / 10} ${unit})`;
}

/** `driver`: what needs the package, for display: `sqs`, `database on PostgreSQL`. */
export const missingPeer = defineError(
  'E_MISSING_PEER',
  (connection: string, driver: string, peer: string, cause: unknown) => ({
    message: `Connection '${connection}' (${driver}) needs the package ${peer}, which is not installed. Run: npm install ${peer}`,
    facts: { connection, driver, peer },
    cause,
  }),
);

/** `using()` was given something that the driver does not know as a transaction. */
export const unknownTransaction = defineError('E_UNKNOWN_TRANSACTION', (connection: string, transaction: unknown) => {
  // Never show its fields: a client may hold a password.
  const given =
    typeof transaction === 'object' && transaction !== null
      ? `an instance of ${transaction.constructor?.name ?? 'no class'}`
      : valueText(transaction);
  return {
    message:
      `Queue.connection('${connection}').using() was given ${given}, which is not a known kind of transaction. Give the client that ` +
      'has begun it (not the pool), what Prisma, Drizzle, TypeORM, MikroORM, kysely, knex or postgres.js hands to the function of ' +
      'a transaction, or an object with query(text, values) that runs a statement in it.',
    facts: { connection, given },
  };
});

/** `Queue.observe()` was given an object that would see nothing. */
export const invalidObserver = defineError('E_INVALID_OBSERVER', (given: unknown, problem: string) => ({
  message:
    `Queue.observe() was given ${valueText(given)}: ${problem}. Give an object with one or more of the functions dispatching(job), ` +
    'around(job, call), ended(run), recovered(job) and progressed(job, progress).',
  facts: { given },
}));
