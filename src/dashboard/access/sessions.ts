/** Who has signed in, and who has tried in vain. In memory: after a restart everybody signs in again. */
import { randomBytes } from 'node:crypto';
import type { Clock, Milliseconds, Seconds } from '../../base/clock';
import { Recent } from '../../base/collections';
import type { Role } from './access';
import { digestOf } from './tokens';

/** How long a session lasts without a request. */
const LONGEST_IDLE: Milliseconds = 12 * 3_600_000;
/** With more sessions, the one that was idle longest ends. */
const MOST = 1000;

interface Session {
  readonly role: Role;
  readonly usedAt: Milliseconds;
}

export class Sessions {
  readonly #clock: Clock;
  /** By the digests of their ids, the longest idle first: a digest read here does not open a session. */
  readonly #kept = new Recent<string, Session>(MOST);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param id under which the session is found; default: one that nobody can guess. Returns it. */
  open(role: Role, id = randomBytes(32).toString('base64url')): string {
    this.#kept.set(keyOf(id), { role, usedAt: this.#clock.monotonic() });
    return id;
  }

  /** The role of whoever opened it. Undefined if it has ended. A mere look, with `isUse` false, does not keep it alive. */
  find(id: string, isUse = true): Role | undefined {
    const session = this.#kept.get(keyOf(id));
    if (session === undefined || this.#clock.monotonic() - session.usedAt > LONGEST_IDLE) return undefined;
    if (isUse) {
      this.end(id);
      this.open(session.role, id);
    }
    return session.role;
  }

  end(id: string): void {
    this.#kept.delete(keyOf(id));
  }
}

function keyOf(id: string): string {
  return digestOf(id).toString('base64');
}

const FREE = 5;
const PAUSE: Milliseconds = 60_000;
/** Addresses that are remembered. If this many have tried within a minute, new addresses must wait too. */
const MOST_SENDERS = 1000;

interface Tries {
  readonly count: number;
  readonly at: Milliseconds;
}

/** Counts wrong tokens by sender: after a few, nobody can sign in from that address for a while. */
export class WrongTries {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #tries = new Map<string, Tries>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the address must wait; 0 if it need not. */
  pauseOf(address: string): Seconds {
    this.#forget();
    const [oldest] = this.#tries.values();
    const { count, at } =
      this.#tries.get(address) ?? (this.#tries.size < MOST_SENDERS ? NONE : { ...oldest!, count: FREE });
    return count < FREE ? 0 : Math.max(1, Math.ceil((at + PAUSE - this.#clock.monotonic()) / 1000));
  }

  add(address: string): void {
    const { count } = this.#tries.get(address) ?? NONE;
    this.#tries.delete(address);
    this.#tries.set(address, { count: count + 1, at: this.#clock.monotonic() });
  }

  #forget(): void {
    for (const [address, { at }] of this.#tries) {
      if (this.#clock.monotonic() - at < PAUSE) return;
      this.#tries.delete(address);
    }
  }
}

const NONE: Tries = { count: 0, at: 0 };
