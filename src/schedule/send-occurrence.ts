/** Sends the job of one occurrence exactly once, even if other processes try as well. */
import type { Milliseconds } from '../base/clock';
import type { Connection, FollowUp, Pushed } from '../connections/contract';
import { entriesFor } from '../connections/due-entries';
import { CapabilityError } from '../connections/errors';
import { pushEvent } from '../connections/push-event';
import { tellPushed } from '../dispatch/send';
import type { OperationsConnection } from '../operations/operations-connection';
import { uuidAt } from '../payload/uuid';
import { pushClaimed } from './claim';
import type { Schedule } from './schedule';
import type { ScheduleApplication } from './schedule-application';

/** Where the jobs of a schedule go, and where its state is kept. */
export interface Destination {
  readonly target: Connection;
  readonly operations: OperationsConnection;
  /** An occurrence is skipped while the previous one's job exists: each holds a key from its moment on. */
  readonly skipsOverlaps: boolean;
  /**
   * An occurrence may be sent before its moment, because the store holds it back until then, and it holds no key meanwhile.
   */
  readonly goesAhead: boolean;
}

/** @throws CapabilityError, E_NO_RECORDS, E_UNKNOWN_CONNECTION, and what is wrong with its job */
export function destinationOf(schedule: Schedule, application: ScheduleApplication): Destination {
  const { connection, overlap, missed, make } = schedule.parts;
  const job = make();
  const target = application.driver(application.encoder.route(job, { connection }).connection);
  const { name, driver, capabilities } = target;
  if (!capabilities.reserve) throw new CapabilityError(name, driver, 'reserve');
  const knowsTies = capabilities.ties === true;
  if (overlap === 'skip' && !knowsTies) throw new CapabilityError(name, driver, 'ties');
  const skipsOverlaps = overlap === 'skip' || (overlap === undefined && knowsTies && missed.policy !== 'all');
  const isUnique = (application.encoder.definitionOf(job).options.unique ?? false) !== false;
  const goesAhead = !skipsOverlaps && !isUnique && capabilities.moments === true;
  return { target, operations: application.neededOperationsOf(target), skipsOverlaps, goesAhead };
}

/** The clock that judges its occurrences. */
export function clockOf(
  { target, operations }: Pick<Destination, 'target' | 'operations'>,
  application: ScheduleApplication,
): Promise<Milliseconds> {
  return target.now?.() ?? operations.now?.() ?? Promise.resolve(application.clock.now());
}

/**
 * `held`: another process is about to send it, but may fail to.
 *
 * @throws what is wrong with the job, and what its store throws
 */
export async function sendOccurrence(
  schedule: Schedule,
  at: Milliseconds,
  now: Milliseconds,
  destination: Destination,
  application: ScheduleApplication,
): Promise<Pushed | 'before' | 'late' | 'held'> {
  const { name, parts, overlapKey } = schedule;
  const { target, operations, skipsOverlaps } = destination;
  const { connection, queue: chosen, missed } = parts;
  const encoded = application.encoder.encode(parts.make(), {
    connection,
    queue: chosen,
    // A store that cannot hold it back by the judging clock gets it at its moment.
    delay: target.capabilities.moments === true ? new Date(at) : 0,
    occurrence: { schedule: name, at, id: uuidAt(name, at), key: skipsOverlaps ? overlapKey : undefined },
  });
  const [entry] = await entriesFor(target, [encoded]);
  const followUp: FollowUp = { queue: encoded.queue, entry: entry! };
  const once = { key: `schedule ${name} ${at}`, until: at + missed.within * 1000 };
  await encoded.hooks?.emit('queueing', pushEvent(encoded));
  const result =
    target.pushOnce === undefined
      ? await pushClaimed(target, operations, followUp, once, now)
      : await target.pushOnce(followUp, once);
  if (result === 'queued' || typeof result === 'object') await tellPushed(encoded, result);
  return result;
}
