/** The locks in a database. An acquire or renew may be carried out twice: the token that holds the lock still holds it. */
import type { Seconds } from '../../base/clock';
import type { LockStore } from '../contract';
import { repeatable, type Purpose } from './engine';
import { BEFORE_ALL } from './page';
import { sql, written, type Sql, type Work } from './statement';
import { StorePart } from './store-part';

/** Expired locks that each new lock removes: more than one, so that they never pile up. */
const SWEPT = 10;

export class Locks extends StorePart implements LockStore {
  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    return this.access('locks.acquire', purpose(name, 'taken'), () => this.#acquire(name, token, ttl));
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    const { tables, after } = this.dialect;
    const renewed = await this.access('locks.renew', purpose(name, 'renewed'), () =>
      written(sql`UPDATE ${tables.locks} SET expires_at = ${after(ttl)} WHERE ${this.#held(name, token)}`),
    );
    return renewed > 0;
  }

  async release(name: string, token: string): Promise<boolean> {
    const once = { ...purpose(name, 'released'), writes: 'once' } as const;
    const released = await this.access('locks.release', once, () =>
      written(sql`DELETE FROM ${this.dialect.tables.locks} WHERE ${this.#held(name, token)}`),
    );
    return released > 0;
  }

  /** Each statement decides by itself whether the lock is taken, so of two at the same time only one gets it. */
  *#acquire(name: string, token: string, ttl: Seconds): Work<boolean> {
    const { tables, key, now, after, insertNew, remove, skipLocked } = this.dialect;
    const { locks } = tables;
    const own = sql`token = ${key(token)}`;
    const isFree = sql`(${own} OR expires_at <= ${now()})`;
    const taken = yield* written(
      sql`UPDATE ${locks} SET ${own}, expires_at = ${after(ttl)} WHERE name = ${key(name)} AND ${isFree}`,
    );
    if (taken > 0) return true;
    const added = insertNew(locks, { name: key(name), token: key(token), expires_at: after(ttl) });
    if ((yield* written(added)) === 0) return false;
    const ended = sql`SELECT name FROM ${locks} WHERE expires_at > ${BEFORE_ALL} AND expires_at <= ${now()}
      ORDER BY expires_at LIMIT ${SWEPT} ${skipLocked}`;
    yield* written(remove(locks, ['name'], ended));
    return true;
  }

  #held(name: string, token: string): Sql {
    const { key, now } = this.dialect;
    return sql`name = ${key(name)} AND token = ${key(token)} AND expires_at > ${now()}`;
  }
}

const purpose = (name: string, what: string): Purpose => repeatable(`lock '${name}' was not ${what}`);
