/** The failed jobs on a database server. */
import { type FailedEntry, type FailedStore, type Forgotten, keptUnder } from '../../failed-store';
import { uuidv7 } from '../../../payload/uuid';
import { newJob } from '../job-text';
import type { Access } from './access';
import type { FailedStatements, NewFailure } from './dialect';
import type { Purpose } from './server-caller';
import type { SqlSession } from './sql-session';

/** Entries that one call removes. */
const PAGE = 500;

const REMOVING: Purpose = { consequence: 'not all of the failed jobs were removed', writes: 'repeatable' };

export class ServerFailedStore implements FailedStore {
  readonly #access: Access;
  readonly #statements: FailedStatements;

  constructor(access: Access, statements: FailedStatements) {
    this.#access = access;
    this.#statements = statements;
  }

  async put(entry: NewFailure): Promise<string> {
    const purpose = { consequence: `the failed job ${entry.id} was not kept`, writes: 'repeatable' } as const;
    // One for all that this call is repeated.
    const own = uuidv7();
    return this.#access('failed.put', purpose, async (session) => {
      const known = await this.#statements.get(session, entry.id);
      const id = keptUnder(known, entry, () => own);
      if (id !== undefined) await this.#statements.put(session, { ...entry, id });
      return id ?? entry.id;
    });
  }

  async list({ queue, limit, offset = 0 }: Parameters<FailedStore['list']>[0]): Promise<readonly FailedEntry[]> {
    return this.#access('failed.list', { consequence: 'no failed jobs were listed' }, (session) =>
      this.#statements.list(session, queue, limit, offset),
    );
  }

  async find(id: string): Promise<readonly FailedEntry[]> {
    const purpose = { consequence: `the failed job ${id} was not read` };
    const entry = await this.#access('failed.find', purpose, (session) => this.#statements.get(session, id));
    return entry === undefined ? [] : [entry];
  }

  async count(queue?: string): Promise<number> {
    return this.#access('failed.count', { consequence: 'no failed jobs were counted' }, (session) =>
      this.#statements.count(session, queue),
    );
  }

  async retry(entry: FailedEntry, payload: Buffer): Promise<boolean> {
    const purpose = { consequence: `the failed job ${entry.id} was not retried`, writes: 'once' } as const;
    const job = { ...newJob(payload, 0), queue: entry.queue, unique: false };
    return this.#access('failed.retry', purpose, (session) => this.#statements.retry(session, entry, job));
  }

  async forget(entry: Forgotten): Promise<boolean> {
    const purpose = { consequence: `the failed job ${entry.id} was kept`, writes: 'once' } as const;
    return this.#access('failed.forget', purpose, (session) => this.#statements.forget(session, entry));
  }

  async flush(queue?: string): Promise<number> {
    return this.#flush('failed.flush', queue, 0);
  }

  async prune({ olderThan, keep, queue }: Parameters<FailedStore['prune']>[0]): Promise<number> {
    let removed = 0;
    if (olderThan !== undefined) {
      removed += await this.#inPages('failed.prune', (session) =>
        this.#statements.pruneOlder(session, queue, olderThan, PAGE),
      );
    }
    if (keep !== undefined) removed += await this.#flush('failed.prune', queue, keep);
    return removed;
  }

  // What fails meanwhile stays: it would never come to an end otherwise.
  async #flush(operation: string, queue: string | undefined, keep: number): Promise<number> {
    const newest = await this.#access(operation, REMOVING, (session) => this.#statements.newest(session, queue, keep));
    return this.#inPages(operation, (session) => this.#statements.flush(session, queue, newest, PAGE));
  }

  async #inPages(operation: string, remove: (session: SqlSession) => Promise<number>): Promise<number> {
    for (let removed = 0; ;) {
      const page = await this.#access(operation, REMOVING, remove);
      removed += page;
      if (page < PAGE) return removed;
    }
  }
}
