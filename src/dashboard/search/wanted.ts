/** What is searched, and where, according to the page's address. */
import type { QueueManager } from '../../application/queue-manager';
import { JOB_STATES } from '../../operations/found-job';
import type { JobState } from '../../operations/listed-job';
import { address, listIn } from '../addresses';
import { neededField } from '../errors';
import { watchedConnections } from '../readings';

export interface Wanted {
  /** Empty if nothing is to be searched yet. */
  readonly text: string;
  /** Undefined means all, also below. */
  readonly connection: string | undefined;
  readonly queue: string | undefined;
  readonly state: JobState | undefined;
  readonly connections: readonly string[];
  /** Undefined if from the beginning. */
  readonly from: Place | undefined;
}

/** How far earlier requests have searched. */
export interface Place {
  readonly connection: string;
  readonly queue: string;
  readonly state: JobState;
  /** The job after which to continue. Undefined if from the first. */
  readonly after: string | undefined;
  /** Jobs searched so far. */
  readonly looked: number;
}

/** In characters: no job contains a longer text, and searching large jobs for it would block the whole process. */
export const LONGEST_TEXT = 300;

/** @throws E_DASHBOARD_QUERY, E_UNKNOWN_CONNECTION */
export function wantedIn(query: URLSearchParams, manager: QueueManager): Wanted {
  const connection = query.get('connection') || undefined;
  const connections = connection === undefined ? watchedConnections(manager) : [manager.settings(connection).name];
  const state = query.get('state') || undefined;
  const text = query.get('text')?.trim() ?? '';
  if (text.length > LONGEST_TEXT) throw neededField('text');
  return {
    text,
    connection,
    queue: query.get('queue') || undefined,
    state: state === undefined ? undefined : stateIn(state, 'state'),
    connections,
    from: placeIn(query.get('from'), connections),
  };
}

/** The page that continues there. */
export function further({ text, connection, queue, state }: Wanted, from: Place): string {
  const place = [from.connection, from.queue, from.state, from.after ?? null, from.looked];
  return address('search', { text, connection, queue, state, from: JSON.stringify(place) });
}

function placeIn(text: string | null, connections: readonly string[]): Place | undefined {
  if (text === null) return undefined;
  const [connection, queue, state, after, looked] = listIn(text);
  if (typeof connection !== 'string' || !connections.includes(connection)) throw neededField('from');
  if (typeof queue !== 'string' || (typeof after !== 'string' && after !== null)) throw neededField('from');
  if (!Number.isSafeInteger(looked) || Number(looked) < 0) throw neededField('from');
  return { connection, queue, state: stateIn(state, 'from'), after: after ?? undefined, looked: Number(looked) };
}

function stateIn(given: unknown, field: string): JobState {
  const state = JOB_STATES.find((each) => each === given);
  if (state === undefined) throw neededField(field);
  return state;
}
