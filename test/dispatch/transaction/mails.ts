/** Jobs dispatched after a commit, and the connections they go to. */
import { AssertionError } from 'node:assert';
import { JobBus } from '../../../src/dispatch/bus';
import { Job } from '../../../src/job/job';
import { QueueUnavailableError } from '../../../src/connections/errors';
import type { QueueConnection } from '../../../src/dispatch/queue-connection';
import { AfterCommitError } from '../../../src/dispatch/errors';
import { watchedApplication, type WatchedApplication, type WatchedConnection } from '../../support/watched-application';

@Job()
export class Mail extends Job {
  constructor(public to: unknown) {
    super();
  }

  async handle(): Promise<void> {
    handled.push(this.to);
    if (this.to === 'nobody') throw new Error('no such address');
  }
}

/** Runs where it is dispatched, and fails because another connection is away. */
@Job()
export class Relays extends Job {
  handle(): void {
    throw away('main');
  }
}

@Job()
export class Pushes extends Job {
  constructor(readonly to: string) {
    super();
  }

  async queue(connection: QueueConnection, route: { readonly delay: number }): Promise<string | undefined> {
    if (this.to === 'nobody') throw new Error('no such address');
    return connection.laterRaw(route.delay, JSON.stringify({ data: { command: { to: this.to } } }), 'own');
  }
}

/** The recipients of the jobs that have run. */
export const handled: unknown[] = [];

export interface Given extends WatchedApplication {
  readonly bus: JobBus;
  readonly send: (to: unknown) => ReturnType<JobBus['dispatchToQueue']>;
}

export function given(): Given {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' }, none: { driver: 'null' } },
  });
  const bus = new JobBus(() => app.manager);
  return { ...app, bus, send: (to) => bus.dispatchToQueue(new Mail(to)).afterCommit() };
}

/** The recipients of the jobs pushed to a connection, in order. */
export const pushed = ({ pushes }: WatchedConnection): unknown[] =>
  pushes.flatMap(({ entries }) => entries.map(({ payload }) => to(JSON.parse(payload))));

const to = (payload: { data: { command: { to: unknown } } }): unknown => payload.data.command.to;

/** The error with which a promise rejects. */
export async function rejection(promise: Promise<unknown>): Promise<AfterCommitError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof AfterCommitError) return error;
  throw new AssertionError({ message: `expected an AfterCommitError, got ${String(error)}` });
}

export const away = (connection: string): Error =>
  new QueueUnavailableError({ connection, store: 'Redis', address: 'redis://a', consequence: 'nothing was queued' });
