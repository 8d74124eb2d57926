/** What has this very id, or a name with this text in it: these are known without a look at all jobs. */
import { CapabilityError, isStoreAway } from '../../connections/errors';
import type { Batch } from '../../dispatch/batch/batch';
import type { FoundJob } from '../../operations/found-job';
import type { Snapshot } from '../../operations/snapshot';
import { address } from '../addresses';
import type { PageContext } from '../view';
import { Pattern } from './pattern';
import type { Wanted } from './wanted';

export interface Known {
  readonly kind: 'job' | 'batch' | 'queue' | 'schedule' | 'class';
  /** Of a job, and of a batch without a name, its id. */
  readonly name: string;
  readonly connection?: string | undefined;
  /** Of a job: how it is. */
  readonly state?: FoundJob['state'] | undefined;
  /** The page about it. */
  readonly page: string;
}

export interface KnownThings {
  readonly known: readonly Known[];
  /** Connections with so many jobs that they did not look for the id at all of them. */
  readonly unsure: readonly string[];
}

/** Batches whose names are looked at. */
const NEWEST = 100;

/** As an id may be; others are not asked for. */
const ID = /^[^\s\p{Cc}]{1,300}$/u;

/** @param seen of the connections that answer */
export async function knownThings(
  context: PageContext,
  { text, queue }: Wanted,
  seen: readonly Snapshot[],
): Promise<KnownThings> {
  const connections = seen.map(({ connection }) => connection);
  const jobs = ID.test(text) ? await Promise.all(connections.map((name) => jobOf(context, name, text, queue))) : [];
  const found = jobs.filter((job) => job !== undefined);
  const batches = await Promise.all(connections.map((name) => batchesOf(context, name, text)));
  const unsure = found.filter((job) => !job.isSure).map(({ connection }) => connection);
  return {
    known: [...found.flatMap(knownJob), ...batches.flat(), ...(await named(context, new Pattern(text), seen))],
    unsure,
  };
}

/** Undefined: its store cannot look for jobs. */
async function jobOf(
  { manager }: PageContext,
  connection: string,
  id: string,
  queue: string | undefined,
): Promise<FoundJob | undefined> {
  try {
    return await manager.connection(connection).find(id, { queue });
  } catch (error) {
    if (isStoreAway(error) || error instanceof CapabilityError) return undefined;
    throw error;
  }
}

/** Of one that is gone, something may be kept all the same. */
function knownJob({ id, connection, queue, state, history }: FoundJob): readonly Known[] {
  if (state === 'unknown' && history.length === 0) return [];
  return [{ kind: 'job', name: id, connection, state, page: address('job', { connection, queue, id }) }];
}

async function batchesOf({ manager }: PageContext, connection: string, text: string): Promise<readonly Known[]> {
  const pattern = new Pattern(text);
  const known = ({ id, name }: Batch): Known => {
    return { kind: 'batch', name: name || id, connection, page: address('batch', { connection, id }) };
  };
  try {
    const batch = ID.test(text) ? await manager.batches.get(text, { connection }) : undefined;
    if (batch !== undefined) return [known(batch)];
    const newest = await manager.batches.list({ connection, limit: NEWEST });
    return newest.filter(({ name }) => pattern.isIn(name)).map(known);
  } catch (error) {
    if (isStoreAway(error) || error instanceof CapabilityError) return [];
    throw error;
  }
}

async function named(context: PageContext, pattern: Pattern, seen: readonly Snapshot[]): Promise<readonly Known[]> {
  const queues = seen.flatMap(({ connection, queues: all }) => all.map(({ queue }) => ({ connection, queue })));
  const classes = context.manager.registry.all().map(({ name }) => name);
  return [
    ...queues
      .filter(({ queue }) => pattern.isIn(queue))
      .map(({ connection, queue }): Known => {
        return { kind: 'queue', name: queue, connection, page: address('queue', { connection, queue }) };
      }),
    ...classes
      .filter((name) => pattern.isIn(name))
      .map((name): Known => ({ kind: 'class', name, page: address('failed', { name }) })),
    ...(await schedulesOf(context))
      .filter((name) => pattern.isIn(name))
      .map((name): Known => ({ kind: 'schedule', name, page: address('schedules') })),
  ];
}

async function schedulesOf({ manager, lookout }: PageContext): Promise<readonly string[]> {
  try {
    return (await lookout.see('schedule list', () => manager.schedules.list())).map(({ name }) => name);
  } catch (error) {
    if (isStoreAway(error)) return [];
    throw error;
  }
}
