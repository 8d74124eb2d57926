/**
 * Carries out a call within a deadline, even if the connection breaks meanwhile.
 *
 * Any call may be sent twice: the commands sent here are idempotent, and scripts are too, by nature or by their record. A
 * call that Redis may have carried out without our seeing the reply is asked again, to get its answer.
 */
import { wordsOf } from '../../base/foreign-error';
import type { OnqueueError } from '../../base/onqueue-error';
import { pageBytes, Recent } from '../../base/collections';
import { endOfTurn, Silence, type Milliseconds, type Seconds } from '../../base/clock';
import type { Logger } from '../../base/logger';
import {
  ATTEMPTS_IN_SILENCE,
  StoreCaller,
  type Absence,
  type CallerSettings,
  type CallFailure,
  type Purpose,
  type Verdict,
} from '../kit/caller';
import type { Entry } from '../contract';
import { QueueUnavailableError } from '../errors';
import {
  callTooLong,
  oldRedis,
  redisRefused,
  isMalformed,
  isPassing,
  isReply,
  isUnavailable,
  isUnknownScript,
  remedyOf,
  foreignKey,
  isForbidden,
  isForbiddenKey,
} from './refusals';
import { CallHead, type Form, type LinkCall, type RedisLink } from './link';
import { script, type ScriptName } from './scripts';
import { NEEDED_VERSION, OldServer } from './client';
import { typeOf } from './keys';

export interface RedisCallerSettings extends CallerSettings {
  readonly logger: Logger;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly offset?: (() => Seconds) | undefined;
}

export interface Patience {
  /** When the deadline starts, by the monotonic clock. Default: now. */
  readonly since?: Milliseconds;
  /**
   * Retry past the deadline: `once-sent`, if the server may have seen the call, because jobs depend on its answer; `always`,
   * because other calls that belong to it were carried out. Default: give up at the deadline.
   */
  readonly insist?: 'once-sent' | 'always' | undefined;
  /**
   * Makes the first attempt in place of the caller, and may delay it. A rejection counts as a lost answer. Undefined as its
   * value: it made no attempt and leaves that to the caller.
   */
  readonly first?: FirstAttempt | undefined;
}

export type FirstAttempt = (form: Form) => Promise<unknown>;

export type Scored = readonly [member: string, score: number];

type InFull = () => Form;

/** Pause between two log lines about one subject: whoever has to fix it may have missed the first. */
const TOLD_AGAIN: Milliseconds = 60_000;
const MOST_TOLD = 1000;

interface Asked extends Purpose {
  since: Patience['since'];
  insist: Patience['insist'];
  readonly operation: string;
  form: Form;
  /** The call with the script's source, for a server that does not know its hash. */
  inFull?: InFull | undefined;
  /** The last attempt. Undefined if none could be made. */
  call?: LinkCall | undefined;
  /** Attempts in a row that were sent, and whose connection ended before the answer. */
  ends?: number;
  /** A connection for this call alone. Undefined if it travels with the others. */
  apart?: RedisLink | undefined;
  /** The cluster node that was silent in the last attempt: other nodes may answer. */
  node?: string | undefined;
}

/**
 * A call that ends its connection so often, the last time one of its own, is taken for the reason: repeated for ever, it would end
 * those of all others too. Only a long one: Redis lets no limit be lower than this.
 */
const MOST_ENDS = 3;
const LEAST_LIMIT = 1024 * 1024;
/** By how many bytes the text of a job grows at most while it is tried again: its counters. */
const GROWTH = 128;

const CLOSED = new Error('the connection was closed');

export class RedisCaller extends StoreCaller<Asked> {
  protected readonly store = 'Redis';
  declare readonly settings: RedisCallerSettings;
  readonly link: RedisLink;
  /** Calls that got no answer by their deadline, each with the address that it waits for. */
  readonly #unanswered = new Map<Asked, string>();
  readonly #toldAt = new Recent<string, Milliseconds>(MOST_TOLD);
  readonly #toldOfPolling = new Set<string>();
  /** The most bytes of a text of which it is known that it can also come back with an outcome, on this connection. */
  longest = LEAST_LIMIT - GROWTH;

  constructor(link: RedisLink, settings: RedisCallerSettings) {
    super(settings);
    this.link = link;
    link.disconnected = () => (this.longest = LEAST_LIMIT - GROWTH);
  }

  /** Whether a call got no answer by its deadline and is being repeated. */
  get isAway(): boolean {
    return this.#unanswered.size > 0;
  }

  /**
   * For idempotent commands only. @throws QueueUnavailableError, `redisRefused`
   *
   * @param consequence what a failure means to the caller, as a clause: `2 jobs were not queued`
   */
  command(command: string, args: Form[1], consequence: string, patience: Patience = {}): Promise<unknown> {
    return this.#carryOut(askedFor(command, consequence, [command, args], patience));
  }

  /** By the server's clock. */
  async time(): Promise<Milliseconds> {
    const time = await this.command('time', [], 'the time of Redis was not read');
    const [seconds, microseconds] = (time as readonly Buffer[]).map(Number) as [number, number];
    return (seconds + (this.settings.offset?.() ?? 0)) * 1000 + microseconds / 1000;
  }

  /** The members of a sorted set with their scores, the highest first. */
  async highest(key: string, start: number, limit: number, consequence: string): Promise<readonly Scored[]> {
    if (limit === 0) return [];
    const reply = await this.command('zrevrange', [key, start, start + limit - 1, 'WITHSCORES'], consequence);
    return scoredIn(reply);
  }

  /** For an answer that we can do without: the call is not repeated, and neither the process nor `close` waits for it. */
  async glance(command: string, args: Form[1], consequence: string): Promise<unknown> {
    const asked = askedFor(command, consequence, [command, args]);
    try {
      return await this.#attempt(asked, (this.settings.deadline * 1000) / ATTEMPTS_IN_SILENCE, false);
    } catch (error) {
      throw this.#failure(command, { consequence, error });
    }
  }

  /**
   * Asks whether Redis takes the longest of these even when it has grown: a job that it takes only now could never be settled, and
   * would run again and again.
   *
   * @param key of ours, to which the user has access
   * @throws `callTooLong`
   */
  async admit(entries: readonly Entry[], key: string, consequence: string, patience?: Patience): Promise<void> {
    const bytes = Math.max(...entries.map(({ payload }) => pageBytes(payload)));
    if (bytes <= this.longest) return;
    await this.command('exists', [key.padEnd(bytes + GROWTH, '-')], consequence, patience);
    this.longest = Math.max(this.longest, bytes);
  }

  /** Rejects with QueueUnavailableError, `foreignKey`, `redisRefused`. */
  script(
    name: ScriptName,
    given: readonly string[] | CallHead,
    args: Form[1],
    consequence: string,
    patience: Patience = {},
  ): Promise<readonly unknown[]> {
    const head = given instanceof CallHead ? given : undefined;
    const keys = head?.keys ?? (given as readonly string[]);
    const { sha, source, answers } = head?.script ?? script(name);
    const operation = `script ${name}`;
    const named = [sha, keys.length, ...keys, this.settings.offset?.() ?? 0, ...args];
    const checked = (reply: unknown): readonly unknown[] => {
      const answer = reply as readonly unknown[];
      const word = String(answer[0]);
      // `stale` is such a word: another call under our name wrote the record, and its answer must not be taken for ours.
      if (!answers.includes(word)) throw this.#replyError(operation, consequence, new Error(word));
      return answer;
    };
    const refused = async (error: unknown): Promise<never> => {
      throw name === 'permitted' ? error : await explained(this, keys, error);
    };
    const inFull: InFull = () => ['eval', named.with(0, source)];
    const asked = askedFor(operation, consequence, ['evalsha', named, head], patience, inFull);
    return this.#carryOut(asked, patience.first).then(checked, refused);
  }

  /** The error for a call that Redis refused in these words. */
  errorOf(words: string, consequence: string): Error {
    const error = Object.assign(new Error(words), { name: 'ReplyError' });
    return this.#failure('script', { consequence, error });
  }

  /**
   * Logs a refusal by Redis, once a minute per subject: if everything else goes on, nobody else would report it. Never
   * rejects.
   */
  async tellOfRefusal(subject: string, keys: readonly string[], refusal: unknown): Promise<void> {
    const { clock, logger } = this.settings;
    const now = clock.monotonic();
    if (now - (this.#toldAt.get(subject) ?? -Infinity) < TOLD_AGAIN) return;
    this.#toldAt.set(subject, now);
    const error = (await explained(this, keys, refusal)) as OnqueueError;
    logger.error({ queue: subject, ...error.facts, code: error.code }, error.message);
  }

  /** Logs once that Redis does not let us wait for something: nobody else would report it, as whoever waits polls instead. */
  tellOfPolling(what: 'jobs' | 'results', polling: string, refusal: Error): void {
    if (this.#toldOfPolling.has(what)) return;
    this.#toldOfPolling.add(what);
    const { name: connection, address, logger } = this.settings;
    const waiting = `Redis at ${address} does not let us wait for ${what} (${wordsOf(refusal)}); ${polling} instead.`;
    logger.warn({ connection, address }, `${waiting} ${remedyOf(refusal) ?? ''}`.trimEnd());
  }

  protected override get unconnected(): unknown {
    return this.link.failure;
  }

  // Also says how the next attempt is made.
  protected verdictOn(error: unknown, asked: Asked): Verdict {
    const { call, apart } = asked;
    if (call === undefined) return 'final';
    const link = apart ?? this.link;
    if (error instanceof Silence) {
      asked.node = link.nodeOf(call);
      link.giveUp(call);
    }
    const ends = (asked.ends = endsItsConnection(asked, error) ? (asked.ends ?? 0) + 1 : 0);
    if (ends === MOST_ENDS) return 'final';
    if (ends === MOST_ENDS - 1) asked.apart ??= this.link.another();
    if (ends > 0) return 'lost';
    if (isUnknownScript(error) && asked.inFull !== undefined) {
      asked.form = asked.inFull();
      asked.inFull = undefined;
      return 'anew';
    }
    if (isReply(error)) return isPassing(error) ? 'passing' : 'final';
    if (call.sent) return 'lost';
    return link.refused ? 'final' : 'passing';
  }

  protected explain(
    { error, late, uncertain }: CallFailure,
    { operation, consequence, node, form, ends }: Asked,
  ): Error {
    if (ends === MOST_ENDS) {
      const { name: connection, address } = this.settings;
      return callTooLong({ connection, address, operation, bytes: bytesOf(form), consequence }, { cause: error });
    }
    return this.#failure(operation, { consequence, error, late, uncertain }, node);
  }

  protected override asksOn({ uncertain }: CallFailure, error: Error, asked: Asked): boolean {
    const { insist, call } = asked;
    const insists = insist === 'always' || (insist === 'once-sent' && uncertain);
    // A script that ran and failed left no record of an earlier run, so there was none, and asking again changes nothing.
    if (call === undefined || redisRefused.is(error) || callTooLong.is(error) || !insists) return false;
    this.#complain(asked, error);
    return true;
  }

  protected override ended(asked: Asked, isAnswered: boolean): void {
    if (this.#unanswered.size > 0) this.#forget(asked, isAnswered);
    asked.apart?.close();
  }

  #carryOut(asked: Asked, first?: FirstAttempt): Promise<unknown> {
    if (first !== undefined) return this.#carryOutAfter(first, asked);
    return this.insist(asked, (milliseconds) => this.#attempt(asked, milliseconds));
  }

  async #carryOutAfter(first: FirstAttempt, asked: Asked): Promise<unknown> {
    try {
      const reply = await this.track(first(asked.form));
      if (reply !== undefined) return reply;
    } catch (error) {
      // Redis may have carried it out, and then has a record of its answer.
      if (!isReply(error)) asked.insist = 'always';
    }
    asked.since = this.settings.clock.monotonic();
    return this.insist(asked, (milliseconds) => this.#attempt(asked, milliseconds));
  }

  /** Rejects with what the call fails with, such as `Silence`; `asked` then describes this attempt. */
  #attempt(asked: Asked, milliseconds: Milliseconds, isMissed = true): Promise<unknown> {
    asked.call = undefined;
    asked.node = undefined;
    if (this.link.isClosed) return Promise.reject(CLOSED);
    const call = (asked.call = (asked.apart ?? this.link).send(asked.form, isMissed));
    // Replies that arrived while a job blocked the event loop are read before we believe the silence.
    const silent = (): void => void endOfTurn().then(() => call.lose(new Silence()));
    // An unanswered call keeps the process alive until its deadline.
    call.timer = this.settings.clock.after(milliseconds, silent, isMissed);
    return call.reply;
  }

  #forget(asked: Asked, isAnswered: boolean): void {
    const { logger, name: connection, address } = this.settings;
    const silent = this.#unanswered.get(asked);
    this.#unanswered.delete(asked);
    if (isAnswered && silent !== undefined && !this.#isSilent(silent)) {
      const others = silent === address ? '' : ', or another node in its place';
      logger.info({ connection, address: silent }, `${silent} answers again${others}.`);
    }
  }

  #failure(operation: string, { error, ...absence }: Absence, node?: string): Error {
    const { name, address } = this.settings;
    const { consequence } = absence;
    if (isReply(error) && !isUnavailable(error)) return this.#replyError(operation, consequence, error);
    const { failure } = this.link;
    if (failure instanceof OldServer) {
      const versions = { found: failure.found, needed: `Redis ${NEEDED_VERSION}` };
      return oldRedis({ connection: name, address, ...versions, consequence }, { cause: failure });
    }
    const cause = isReply(error) ? error : (failure ?? error);
    return this.unavailable({
      ...absence,
      error: cause,
      late: absence.late === true || error instanceof Silence,
      address: node,
      refused: isReply(cause),
      remedy: remedyOf(cause),
    });
  }

  #replyError(operation: string, consequence: string, cause: Error): Error {
    const { name: connection, address } = this.settings;
    const reply = wordsOf(cause) ?? '';
    return redisRefused({ connection, address, operation, reply, consequence }, { cause });
  }

  // Others may be answered meanwhile, by other masters of a cluster.
  #complain(asked: Asked, failure: Error): void {
    const { name, address: whole, logger } = this.settings;
    const address = this.#unanswered.get(asked) ?? asked.node ?? whole;
    const isFirst = !this.#isSilent(address);
    this.#unanswered.set(asked, address);
    if (!isFirst) return;
    // Somebody has to mend what is refused.
    const isRefused = failure instanceof QueueUnavailableError && failure.facts.refused === true;
    logger[isRefused ? 'error' : 'warn'](
      { connection: name, address },
      `${failure.message} A call without an answer is repeated until Redis gives it.`,
    );
  }

  #isSilent(address: string): boolean {
    return [...this.#unanswered.values()].includes(address);
  }
}

function askedFor(
  operation: string,
  consequence: string,
  form: Form,
  { since, insist }: Patience = {},
  inFull?: InFull,
): Asked {
  return { insist, operation, consequence, since, repeatable: true, form, inFull };
}

/** The members of a sorted set and their scores, as Redis answers with them. */
export function scoredIn(reply: unknown): readonly Scored[] {
  const flat = reply as readonly Buffer[];
  const scored: Scored[] = [];
  for (let at = 0; at < flat.length; at += 2) scored.push([String(flat[at]), Number(flat[at + 1])]);
  return scored;
}

/** Whether a long call was sent, and the connection ended before its answer or with a refusal of its form. */
function endsItsConnection({ call, form }: Asked, error: unknown): boolean {
  const hasEnded = isReply(error) ? isMalformed(error) : !(error instanceof Silence);
  return hasEnded && call?.sent === true && bytesOf(form) >= LEAST_LIMIT;
}

function bytesOf([, args]: Form): number {
  return args.reduce<number>((sum, arg) => sum + (typeof arg === 'number' ? 0 : Buffer.byteLength(arg)), 0);
}

/**
 * The error in clearer words: with the key or the permission that made Redis refuse a script, which Redis itself does not say. The
 * same error if there is another reason or none can be found.
 */
export async function explained(caller: RedisCaller, keys: readonly string[], error: unknown): Promise<unknown> {
  if (redisRefused.is(error) && error.facts.reply.includes('WRONGTYPE')) {
    return (await errorOfForeignKey(caller, keys, error.facts.consequence, error).catch(() => undefined)) ?? error;
  }
  if (!(error instanceof QueueUnavailableError) || !isReply(error.cause) || !isForbidden(error.cause)) return error;
  // Worded as Redis does, so that it gets the same remedy.
  const forbidden = (what: string): Error =>
    caller.errorOf(`NOPERM this user may not ${what}`, error.facts.consequence);
  const key = isForbiddenKey(error.cause) ? await closedKey(caller, keys).catch(() => undefined) : undefined;
  if (key !== undefined) return forbidden(`use the key '${key}'`);
  const missing = await missingPermissions(caller, keys.at(-1)!, SCRIPTED).catch(() => []);
  return missing.length === 0 ? error : forbidden(`call ${missing.join(', ')}`);
}

/** The first of these keys that the user may not read and write. Undefined if there is none. */
export async function closedKey(caller: RedisCaller, keys: readonly string[]): Promise<string | undefined> {
  for (const key of keys) {
    try {
      await missingPermissions(caller, key, []);
    } catch (error) {
      if (!(error instanceof QueueUnavailableError) || !isForbiddenKey(error.cause)) throw error;
      return key;
    }
  }
  return undefined;
}

async function errorOfForeignKey(
  caller: RedisCaller,
  keys: readonly string[],
  consequence: string,
  cause: unknown,
): Promise<Error | undefined> {
  const { name: connection, address } = caller.settings;
  for (const key of keys) {
    const type = String(await caller.command('type', [key], consequence));
    const expected = typeOf(key);
    if (type === 'none' || type === expected) continue;
    return foreignKey({ connection, address, key, type, expected, consequence }, { cause });
  }
  return undefined;
}

/** Commands called by the scripts. */
export const SCRIPTED = [
  ...['del', 'exists', 'expireat', 'get', 'hdel', 'hget', 'hgetall', 'hmget', 'hscan', 'hset', 'llen', 'lpop'],
  ...['lpush', 'lrange', 'lrem', 'ltrim', 'pexpire', 'rpush', 'set', 'smembers', 'time', 'unlink'],
  ...['zadd', 'zcard', 'zcount', 'zlexcount', 'zmscore', 'zrange', 'zrangebyscore', 'zrem', 'zscore'],
] as const;

/** Commands called outside scripts, except `scan` and `srem`, which only `onqueue recount` and `Queue.forget` need. */
const DIRECT = ['blpop', 'eval', 'evalsha', 'info', 'ping', 'sadd', 'zrevrange'] as const;

/** Commands that wake those who wait for a record. If they are not allowed, the record is polled. */
export const WAKING = ['publish', 'subscribe', 'unsubscribe'] as const;

/** Those of the commands that the user may not call. Also empty if Redis cannot tell. */
export async function missingPermissions(
  caller: RedisCaller,
  key: string,
  commands: readonly string[] = [...SCRIPTED, ...DIRECT],
): Promise<readonly string[]> {
  const [, missing] = await caller.script('permitted', [key], commands, 'its permissions were not read');
  return (missing as readonly Buffer[]).map(String);
}
