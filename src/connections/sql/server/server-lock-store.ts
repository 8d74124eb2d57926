/** The locks on a database server. Each call may be carried out twice: a token that holds a lock holds it. */
import type { Seconds } from '../../../base/clock';
import type { LockStore } from '../../lock-store';
import type { Access } from './access';
import type { LockStatements } from './dialect';
import type { Purpose } from './server-caller';

export class ServerLockStore implements LockStore {
  readonly #access: Access;
  readonly #statements: LockStatements;

  constructor(access: Access, statements: LockStatements) {
    this.#access = access;
    this.#statements = statements;
  }

  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return this.#access('locks.acquire', purpose(name, 'taken'), (session) =>
      this.#statements.acquire(session, name, token, ttl),
    );
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return this.#access('locks.renew', purpose(name, 'renewed'), (session) =>
      this.#statements.renew(session, name, token, ttl),
    );
  }

  async release(name: string, token: string): Promise<boolean> {
    const once = { ...purpose(name, 'released'), writes: 'once' } as const;
    return this.#access('locks.release', once, (session) => this.#statements.release(session, name, token));
  }
}

function purpose(name: string, what: string): Purpose {
  return { consequence: `lock '${name}' was not ${what}`, writes: 'repeatable' };
}
