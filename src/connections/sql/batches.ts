/** The batches of a database, as its users see them, and what becomes of them when jobs are removed. */
import type { Cause } from '../../payload/chain';
import { readTies } from '../../payload/ties';
import type { BatchState, BatchStore } from '../batch-store';
import type { FollowUp } from '../contract';
import { type BatchChange, changeBy, sumOf } from '../kit/batch-counts';
import type { BatchRows } from './batch-rows';
import type { Dialect, Removed } from './dialect';
import type { Access, Purpose } from './engine';
import { rowLimit } from './jobs';
import { followerOf } from './reservations';
import { sql, type Work, written } from './statement';

/** Batches that one call removes. */
const PAGE = 500;

/** Runs work that removes jobs. */
export type Removing = <T extends Pick<Removed, 'tied'>>(
  operation: string,
  purpose: Purpose,
  work: () => Work<T>,
) => Promise<T>;

export class Batches implements BatchStore {
  readonly #access: Access;
  readonly #dialect: Dialect;
  readonly #rows: BatchRows;
  readonly #wrote: (queue: string) => void;

  /** @param wrote called when something was sent to a queue */
  constructor(access: Access, dialect: Dialect, rows: BatchRows, wrote: (queue: string) => void) {
    this.#access = access;
    this.#dialect = dialect;
    this.#rows = rows;
    this.#wrote = wrote;
  }

  async find(id: string): Promise<BatchState | undefined> {
    return this.#access('batches.find', { consequence: `the batch ${id} was not read` }, () => this.#rows.find(id));
  }

  async list({ limit, offset = 0 }: Parameters<BatchStore['list']>[0]): Promise<readonly BatchState[]> {
    const page = sql`ORDER BY created_at DESC, id DESC LIMIT ${rowLimit(limit)} OFFSET ${rowLimit(offset)}`;
    return this.#access('batches.list', { consequence: 'no batches were listed' }, () => this.#rows.list(page));
  }

  async hold(id: string): Promise<boolean> {
    const purpose = { consequence: `the batch ${id} was not held open`, writes: 'repeatable' } as const;
    return this.#access('batches.hold', purpose, () => this.#dialect.transaction(this.#rows.hold(id)));
  }

  async seal(id: string, _queue?: string, abandoned?: Cause): Promise<boolean> {
    const sealed = await this.#sending('batches.seal', orderOf(`the batch ${id} was not sealed`), (rows) =>
      rows.seal(id, abandoned),
    );
    return sealed !== undefined;
  }

  async cancel(id: string): Promise<boolean> {
    const purpose = orderOf(`the batch ${id} was not cancelled`);
    return this.#access('batches.cancel', purpose, () => this.#dialect.transaction(this.#rows.cancel(id)));
  }

  async prune({ olderThan, unfinished = false }: Parameters<BatchStore['prune']>[0]): Promise<number> {
    const purpose = { consequence: 'not all of the batches were removed', writes: 'repeatable' } as const;
    for (let removed = 0; ;) {
      const page = await this.#access('batches.prune', purpose, () => this.#rows.prune(olderThan, unfinished, PAGE));
      removed += page;
      if (page < PAGE) return removed;
    }
  }

  /** Makes one transaction of work that removes jobs, and of what becomes of their batches by it. */
  readonly removing: Removing = async (operation, purpose, work) => {
    const { done } = (await this.#sending(operation, purpose, function* (rows) {
      const done = yield* work();
      const changes = changesBy(done.tied);
      return { done, followUps: changes.size === 0 ? [] : yield* rows.leave(changes) };
    }))!;
    return done;
  };

  /** Makes one transaction of work, and of what is sent by it. */
  async #sending<T extends { readonly followUps: readonly FollowUp[] }>(
    operation: string,
    purpose: Purpose,
    work: (rows: BatchRows) => Work<T | undefined>,
  ): Promise<T | undefined> {
    const { jobs, transaction } = this.#dialect;
    const rows = this.#rows;
    const done = await this.#access(operation, purpose, () =>
      transaction(
        (function* () {
          const step = yield* work(rows);
          const followers = step?.followUps.map(followerOf) ?? [];
          if (followers.length === 0) return step;
          for (const queue of jobs.remember === undefined ? [] : queuesOf(step!.followUps)) {
            yield* written(jobs.remember!(queue));
          }
          yield* jobs.push(followers, undefined);
          return step;
        })(),
      ),
    );
    for (const queue of queuesOf(done?.followUps ?? [])) this.#wrote(queue);
    return done;
  }
}

export const queuesOf = (sent: readonly { readonly queue: string }[]): readonly string[] => [
  ...new Set(sent.map(({ queue }) => queue)),
];

const OPENING = Buffer.from('{');

/** By how much each batch changes when its jobs are gone of whose texts these are the ends. */
function changesBy(ends: readonly Buffer[]): ReadonlyMap<string, BatchChange> {
  const changes = new Map<string, BatchChange>();
  for (const end of ends) {
    const tie = readTies(Buffer.concat([OPENING, end]))?.batch;
    if (tie !== undefined) changes.set(tie.id, sumOf(changes.get(tie.id), changeBy(tie)));
  }
  return changes;
}

const orderOf = (consequence: string): Purpose => ({ consequence, writes: 'once', durable: true });
