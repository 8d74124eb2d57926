/** Errors about failed jobs. */
import { inspect } from 'node:util';
import { defineError } from '../../base/onqueue-error';

/** `connections`: those that should keep failed jobs: all of them, or a worker's own and the one that `failed` names. */
export const noFailedStore = defineError('E_NO_FAILED_STORE', (connections: readonly string[]) => {
  const [only] = connections;
  const none =
    connections.length === 1
      ? `Connection '${only}' keeps no failed jobs.`
      : `None of the connections ${connections.join(', ')} keeps failed jobs.`;
  return {
    message:
      `${none} Name one that does, for example with driver \`redis\` or \`database\`, as \`failed\` in the ` +
      'configuration; by default it is the default connection.',
    facts: { connections },
  };
});

/** A connection whose failed jobs could not be read, with its error. */
export interface Unreachable {
  readonly connection: string;
  readonly error: Error;
}

const namesOf = (away: readonly Unreachable[]): string =>
  `${away.length === 1 ? 'connection' : 'connections'} ${away.map(({ connection }) => `'${connection}'`).join(', ')}`;

interface Place {
  readonly connection: string;
  readonly queue: string;
}

/** Jobs with one id failed on several queues or connections, and it is unclear which one is meant. Nothing was done. */
export const ambiguousFailedJob = defineError('E_AMBIGUOUS_FAILED_JOB', (id: string, found: readonly Place[]) => {
  const places = found.map(({ connection, queue }) => ({ connection, queue }));
  const named = places.map(({ connection, queue }) => `queue '${queue}' of connection '${connection}'`);
  return {
    message:
      `Several failed jobs have the id '${id}': on ${named.join(', and on ')}. Nothing was done. Name one of them: ` +
      `{ queue: '${places[0]?.queue}', connection: '${places[0]?.connection}' }, or --queue and --connection.`,
    facts: { id, places },
  };
});

/** `done`: the result for the connections that answered, as a clause: "3 failed jobs were removed". */
export const failedJobsOutOfReach = defineError(
  'E_FAILED_JOBS_OUT_OF_REACH',
  (done: string, count: number, away: readonly Unreachable[]) => ({
    message:
      `${done[0]?.toUpperCase()}${done.slice(1)}, but those of ${namesOf(away)} could not be read. ` +
      `Try again later: ${away[0]?.error.message}`,
    facts: { done: count, connections: away.map(({ connection }) => connection) },
    cause: away[0]?.error,
  }),
);

/** A failed job cannot be retried, because another job holds its unique key. Nothing was done. */
export const uniqueHeld = defineError('E_UNIQUE_HELD', (name: string, id: string, holder: string) => ({
  message: `${name} ${id} stays failed: ${holder} holds its key. Retry it when that job has ended, or forget it.`,
  facts: { name, id, holder },
}));

/** A filter that chooses no failed jobs by mistake, and taken literally would choose all. */
export const invalidFailedFilter = defineError(
  'E_FAILED_FILTER',
  (call: string, filter: unknown, reason: string, remedy: string = HOW_TO_FILTER) => ({
    message: `${call} was given ${inspect(filter, { depth: 1, breakLength: Infinity })}, and ${reason}.${remedy}`,
    facts: { call, filter },
  }),
);

const HOW_TO_FILTER =
  " Give one or more of queue, name, error (some text in the exception) and olderThan; flush() and retry('all') take all.";

export interface LeftBehind {
  readonly id: string;
  readonly reason: string;
}

/** `retry('all')` went through all failed jobs that it could read, but could not send all of them back. */
export const retryIncomplete = defineError(
  'E_RETRY_INCOMPLETE',
  (retried: number, left: readonly LeftBehind[], away: readonly Unreachable[], cause: unknown) => {
    const [first] = left;
    const stuck =
      first === undefined
        ? ''
        : ` ${left.length} could not be sent back and stay failed; the first is ${first.id}: ${first.reason}`;
    const [gone] = away;
    const unasked = gone === undefined ? '' : ` Those of ${namesOf(away)} could not be read: ${gone.error.message}`;
    return {
      message: `${retried} failed ${retried === 1 ? 'job was' : 'jobs were'} sent back.${stuck}${unasked}`,
      facts: { retried, left, connections: away.map(({ connection }) => connection) },
      cause,
    };
  },
);
