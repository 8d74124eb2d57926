/** Ends what a manager holds open, step by step, each within a deadline: an unreachable store must not block it. */
import type { Application } from '../connections/application';
import { type Seconds, within } from '../base/clock';

/** What a manager stops when it closes: mostly workers. */
export interface Closable {
  /** May be called at any time, any number of times. */
  close(): Promise<void>;
  /** Whether it waits for the very code that asks. That code must then not wait for its end. */
  readonly isCaller?: boolean | undefined;
  /** Seconds that a clean end may take; then the manager goes on without it. Default 60. */
  readonly closeDeadline?: Seconds | undefined;
}

const SENDING_DEADLINE: Seconds = 10;
const STOPPING_DEADLINE: Seconds = 60;
/** For the connections, all at once. */
export const CLOSING_DEADLINE: Seconds = 5;
const LAST_DEADLINE: Seconds = 10;

/**
 * Sends what was dispatched and not awaited, then stops the workers. Until it resolves, jobs may use the connections.
 */
export async function settle(application: Application, closables: Iterable<Closable>): Promise<void> {
  const send = (): Promise<void> => {
    const during = 'sending what was dispatched and not awaited';
    return inTime(application, SENDING_DEADLINE, during, () => application.outbox.flush());
  };
  await send();
  const stops = Array.from(closables, (closable) => {
    const seconds = closable.closeDeadline ?? STOPPING_DEADLINE;
    return inTime(application, seconds, 'stopping a worker', async () => closable.close());
  });
  await Promise.all(stops);
  // Sends what the last jobs dispatched.
  await send();
}

/** @param last ends what the configuration itself has opened */
export async function disconnect(application: Application, last?: () => unknown): Promise<void> {
  const ends = Array.from(application.drivers, (driver) => {
    const during = `closing the connection '${driver.name}'`;
    return inTime(application, CLOSING_DEADLINE, during, async () => driver.close());
  });
  await Promise.all(ends);
  if (last === undefined) return;
  await inTime(application, LAST_DEADLINE, 'close() of the configuration', async () => void (await last()));
}

function inTime(application: Application, seconds: Seconds, during: string, step: () => Promise<void>): Promise<void> {
  const { clock, logger } = application;
  const ended = step().catch((error: unknown) => application.report(error, { during }));
  const leaveBehind = (): void =>
    logger.warn({ seconds }, `Queue.close(): ${during} took longer than ${seconds} s; going on without it.`);
  return within(clock, seconds * 1000, ended).catch(leaveBehind);
}
