/** Things with exactly this id, or with this text in their name: found without searching all jobs. */
import { isStoreAway } from '../../connections/errors';
import type { Batch } from '../../dispatch/batch/batch';
import type { FoundJob } from '../../operations/found-job';
import type { Snapshot } from '../../operations/snapshot';
import { address } from '../addresses';
import { schedulesOf } from '../readings';
import { isIncapable, readOr } from '../troubles';
import type { PageContext } from '../view';
import { Pattern } from './pattern';
import type { Wanted } from './wanted';

export interface Known {
  readonly kind: 'job' | 'batch' | 'queue' | 'schedule' | 'class';
  /** The id of a job, or of a batch without a name. */
  readonly name: string;
  readonly connection?: string | undefined;
  readonly state?: FoundJob['state'] | undefined;
  readonly page: string;
}

export interface KnownThings {
  readonly known: readonly Known[];
  /** Connections with so many jobs that not all were searched for the id. */
  readonly unsure: readonly string[];
}

/** How many batches' names are searched. */
const NEWEST = 100;

/** What an id may look like; other texts are not looked up. */
const ID = /^[^\s\p{Cc}]{1,300}$/u;

/** @param seen the snapshots of the connections that answer */
export async function knownThings(
  context: PageContext,
  { text, queue }: Wanted,
  seen: readonly Snapshot[],
): Promise<KnownThings> {
  const connections = seen.map(({ connection }) => connection);
  const jobOf = (name: string): Promise<FoundJob | undefined> =>
    readOr(() => context.manager.connection(name).find(text, { queue }), undefined, isStoreAway, isIncapable);
  const jobs = ID.test(text) ? await Promise.all(connections.map(jobOf)) : [];
  const found = jobs.filter((job) => job !== undefined);
  const pattern = new Pattern(text);
  const batches = await Promise.all(connections.map((name) => batchesOf(context, name, text, pattern)));
  const unsure = found.filter((job) => !job.isSure).map(({ connection }) => connection);
  return {
    known: [...found.flatMap(knownJob), ...batches.flat(), ...(await named(context, pattern, seen))],
    unsure,
  };
}

/** Records of a job may be kept even if the job is gone. */
function knownJob({ id, connection, queue, state, history }: FoundJob): readonly Known[] {
  if (state === 'unknown' && history.length === 0) return [];
  return [{ kind: 'job', name: id, connection, state, page: address('job', { connection, queue, id }) }];
}

function batchesOf(
  { manager }: PageContext,
  connection: string,
  text: string,
  pattern: Pattern,
): Promise<readonly Known[]> {
  const known = ({ id, name }: Batch): Known => {
    return { kind: 'batch', name: name || id, connection, page: address('batch', { connection, id }) };
  };
  const read = async (): Promise<readonly Known[]> => {
    const batch = ID.test(text) ? await manager.batches.get(text, { connection }) : undefined;
    if (batch !== undefined) return [known(batch)];
    const newest = await manager.batches.list({ connection, limit: NEWEST });
    return newest.filter(({ name }) => pattern.isIn(name)).map(known);
  };
  return readOr(read, [], isStoreAway, isIncapable);
}

async function named(context: PageContext, pattern: Pattern, seen: readonly Snapshot[]): Promise<readonly Known[]> {
  const queues = seen.flatMap(({ connection, queues: all }) => all.map(({ queue }) => ({ connection, queue })));
  const all: readonly Known[] = [
    ...queues.map(({ connection, queue }) => {
      return { kind: 'queue', name: queue, connection, page: address('queue', { connection, queue }) } as const;
    }),
    ...context.manager.registry.all().map(({ name }) => {
      return { kind: 'class', name, page: address('failed', { name }) } as const;
    }),
    ...(await schedulesOf(context)).map(({ name }) => {
      return { kind: 'schedule', name, page: address('schedules') } as const;
    }),
  ];
  return all.filter(({ name }) => pattern.isIn(name));
}
