/**
 * Carries a call out, within a deadline, whatever becomes of the connection meanwhile.
 *
 * Every call may be sent twice: commands that are asked here are idempotent, scripts are by nature or by their record.
 * What may have been carried out unseen is asked again, so that its answer is not lost with the reply.
 */
import { wordsOf } from '../../base/foreign-error';
import type { OnqueueError } from '../../base/onqueue-error';
import { Recent } from '../../base/recent';
import { type Clock, endOfTurn, type Milliseconds, type Seconds } from '../../base/clock';
import type { Logger } from '../../base/logger';
import { QueueUnavailableError } from '../errors';
import { oldRedis, redisRefused } from './errors';
import { explained } from './explanations';
import type { LinkCall, RedisLink } from './link';
import { isPassing, isReply, isUnavailable, isUnknownScript, remedyOf } from './refusals';
import type { Script } from './scripts';
import { NEEDED_VERSION, OldServer } from './server-version';

export interface CallerSettings {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly address: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly deadline: Seconds;
  readonly origin?: string | undefined;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly offset?: (() => Seconds) | undefined;
}

export interface Patience {
  /** What a failure means to the caller, as a clause: `2 jobs were not queued`. */
  readonly consequence: string;
  /** From when on the deadline counts, by the monotonic clock. Default: now. */
  readonly since?: Milliseconds;
  /**
   * Ask for as long as it takes: `once-sent`, where the server may have seen the call, since its answer stands for
   * jobs; `always`, where others that belong to it were carried out. Default: give up at the deadline.
   */
  readonly insist?: 'once-sent' | 'always' | undefined;
}

/** How a call is written, and how where the server does not know the script. */
type Form = (known: boolean) => readonly [command: string, args: Arguments];

type Arguments = readonly (string | Buffer | number)[];

const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 1000;

/** Between two lines about one subject: whoever is to mend it may not have seen the first. */
const TOLD_AGAIN: Milliseconds = 60_000;
const MOST_TOLD = 1000;

/** A connection that has died unnoticed is given up early enough for another one to answer within the deadline. */
const ATTEMPTS_IN_SILENCE = 2;

/** How a call has come out so far. */
interface Failed {
  readonly error: unknown;
  /** What the server said last, if it said anything. */
  readonly refusal?: Error | undefined;
  readonly late: boolean;
  readonly uncertain: boolean;
  /** The node of a cluster that was silent, if it was one. */
  readonly node?: string | undefined;
}

/** How an attempt came out; without a call, none could be made. */
type Answer = { readonly value: unknown } | { readonly error: unknown; readonly call: LinkCall | undefined };

interface Begun {
  readonly first: Answer;
  /** The deadline, by the monotonic clock. */
  readonly until: Milliseconds;
}

/** Nothing came in time. */
const SILENCE = Symbol('silence');

const CLOSED = new Error('the connection was closed');

export class RedisCaller {
  readonly settings: CallerSettings;
  readonly #link: RedisLink;
  #answeredAt: Milliseconds = -Infinity;
  /** Calls that have had no answer by their deadlines, each with the address that it waits for. */
  readonly #unanswered = new Map<Patience, string>();
  readonly #toldAt = new Recent<string, Milliseconds>(MOST_TOLD);
  #underWay = 0;
  #onDone: (() => void) | undefined;

  constructor(link: RedisLink, settings: CallerSettings) {
    this.#link = link;
    this.settings = settings;
  }

  /** When the server answered last, by the monotonic clock. */
  get answeredAt(): Milliseconds {
    return this.#answeredAt;
  }

  /** A call has had no answer by its deadline, and is repeated. */
  get isAway(): boolean {
    return this.#unanswered.size > 0;
  }

  /** Only for commands that may be carried out twice. @throws QueueUnavailableError, `redisRefused` */
  command(command: string, args: Arguments, patience: Patience): Promise<unknown> {
    return this.#carryOut(command, () => [command, args], patience);
  }

  /**
   * Asked once, and missed by nobody: it is not repeated, and neither the process nor who closes waits for its answer.
   *
   * @throws QueueUnavailableError, `redisRefused`
   */
  glance(command: string, args: Arguments, consequence: string): Promise<unknown> {
    const { clock, deadline } = this.settings;
    return new Promise((resolve, reject) => {
      const heard = (answer: Answer): void => {
        if ('value' in answer) resolve(answer.value);
        else reject(this.#failure(command, { error: answer.error, late: false, uncertain: false }, { consequence }));
      };
      this.#attempt([command, args], clock.monotonic() + deadline * 1000, heard, false);
    });
  }

  /** @throws QueueUnavailableError, `foreignKey`, `redisRefused` */
  async script(
    script: Script,
    keys: readonly string[],
    args: Arguments,
    patience: Patience,
  ): Promise<readonly unknown[]> {
    const tail = [keys.length, ...keys, this.settings.offset?.() ?? 0, ...args];
    const form: Form = (known) => (known ? ['evalsha', [script.sha, ...tail]] : ['eval', [script.source, ...tail]]);
    const operation = `script ${script.name}`;
    let reply: [Buffer, ...unknown[]];
    try {
      reply = (await this.#carryOut(operation, form, patience)) as [Buffer, ...unknown[]];
    } catch (error) {
      throw script.name === 'permitted' ? error : await explained(this, keys, error);
    }
    const word = String(reply[0]);
    // `stale` is one such word: what another call under our name has done would be taken for ours.
    if (!script.answers.includes(word)) throw this.#replyError(operation, patience.consequence, new Error(word));
    return reply;
  }

  /** The node of a cluster that has this key, as far as is known. */
  placeOf(key: string): string {
    return this.#link.placeOf(key);
  }

  /** What a call fails with that Redis has refused in these words. */
  errorOf(words: string, consequence: string): Error {
    const error = Object.assign(new Error(words), { name: 'ReplyError' });
    return this.#failure('script', { error, late: false, uncertain: false }, { consequence });
  }

  /**
   * Says in the log what Redis has refused, once a minute for each subject: where all else goes on, nobody else would say it.
   * Never rejects.
   */
  async tellOfRefusal(subject: string, keys: readonly string[], refusal: unknown): Promise<void> {
    const { clock, logger } = this.settings;
    const now = clock.monotonic();
    if (now - (this.#toldAt.get(subject) ?? -Infinity) < TOLD_AGAIN) return;
    this.#toldAt.set(subject, now);
    const error = (await explained(this, keys, refusal)) as OnqueueError;
    logger.error({ queue: subject, ...error.facts, code: error.code }, error.message);
  }

  /** Resolves when nothing is under way any more, at the latest after `milliseconds`. */
  async idle(milliseconds: Milliseconds): Promise<void> {
    const { clock } = this.settings;
    const end = clock.monotonic() + milliseconds;
    while (this.#underWay > 0 && clock.monotonic() < end) {
      await new Promise<void>((resolve) => {
        const timer = clock.after(end - clock.monotonic(), resolve, true);
        this.#onDone = () => {
          timer.cancel();
          resolve();
        };
      });
      // What waited for this answer is sent now.
      await endOfTurn();
    }
  }

  // The first attempt, which is nearly always the last, goes without the promises that more of them take.
  #carryOut(operation: string, form: Form, patience: Patience): Promise<unknown> {
    const { clock, deadline } = this.settings;
    const until = (patience.since ?? clock.monotonic()) + deadline * 1000;
    this.#underWay += 1;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#underWay -= 1;
        this.#onDone?.();
      };
      this.#attempt(form(true), until, (first) => {
        if ('value' in first) {
          end();
          this.#answeredAt = clock.monotonic();
          return resolve(first.value);
        }
        const over = (): void => {
          this.#unanswered.delete(patience);
          end();
        };
        this.#insist(operation, form, patience, { first, until }).finally(over).then(resolve, reject);
      });
    });
  }

  async #insist(operation: string, form: Form, patience: Patience, begun: Begun): Promise<unknown> {
    const { clock, deadline } = this.settings;
    let { first: answer, until } = begun;
    let known = true;
    let uncertain = false;
    let refusal: Error | undefined;
    for (let attempt = 0; ; attempt += 1) {
      if (attempt > 0) answer = await this.#attempted(form(known), until);
      if ('value' in answer) return this.#answered(patience, answer.value);
      const { error, call } = answer;
      if (call === undefined) throw this.#failure(operation, { error, late: false, uncertain }, patience);
      if (isUnknownScript(error)) {
        known = false;
        continue;
      }
      uncertain ||= call.sent && !isReply(error);
      if (isReply(error)) refusal = error;
      // Of a cluster one node may be silent, and the others answer.
      const node = error === SILENCE ? this.#link.nodeOf(call) : undefined;
      if (error === SILENCE) this.#link.giveUp(call);
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 10), LONGEST_PAUSE);
      // A last attempt that has no time for an answer would only leave a doubt.
      const late = clock.monotonic() + pause + FIRST_PAUSE >= until;
      if (late || (isReply(error) && !isPassing(error)) || this.#link.refused) {
        const failure = this.#failure(operation, { error, refusal, late, uncertain, node }, patience);
        const insists = patience.insist === 'always' || (patience.insist === 'once-sent' && uncertain);
        // A script that ran and failed left no record of an earlier run: there was none, and asking again changes nothing.
        if (redisRefused.is(failure) || !insists) throw failure;
        this.#complain(patience, failure, node);
        if (late) until = clock.monotonic() + pause + deadline * 1000;
      }
      await this.#pause(pause);
    }
  }

  #attempted(form: ReturnType<Form>, until: Milliseconds): Promise<Answer> {
    return new Promise((resolve) => {
      this.#attempt(form, until, resolve);
    });
  }

  // `heard` counts once.
  #attempt(form: ReturnType<Form>, until: Milliseconds, heard: (answer: Answer) => void, keepsAlive = true): void {
    if (this.#link.closed) return heard({ error: CLOSED, call: undefined });
    const { clock, deadline } = this.settings;
    const call = this.#link.send(...form);
    let isOver = false;
    const end = (answer: Answer): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      heard(answer);
    };
    // What came while a job blocked the event loop is read before the silence is believed.
    const silent = (): void => void endOfTurn().then(() => end({ error: SILENCE, call }));
    const slice = (deadline * 1000) / ATTEMPTS_IN_SILENCE;
    // An unanswered call keeps the process alive, up to its deadline.
    const timer = clock.after(Math.min(slice, until - clock.monotonic()), silent, keepsAlive);
    call.reply.then(
      (value) => end({ value }),
      (error: unknown) => end({ error, call }),
    );
  }

  #answered(patience: Patience, value: unknown): unknown {
    const { clock, logger, name: connection, address } = this.settings;
    this.#answeredAt = clock.monotonic();
    const silent = this.#unanswered.get(patience);
    this.#unanswered.delete(patience);
    if (silent !== undefined && !this.#isSilent(silent)) {
      const others = silent === address ? '' : ', or another node in its place';
      logger.info({ connection, address: silent }, `${silent} answers again${others}.`);
    }
    return value;
  }

  #failure(operation: string, { error, refusal, late, uncertain, node }: Failed, patience: Patience): Error {
    const { name, address, deadline, origin } = this.settings;
    if (isReply(error) && !isUnavailable(error)) return this.#replyError(operation, patience.consequence, error);
    const { failure } = this.#link;
    if (failure instanceof OldServer) {
      const { consequence } = patience;
      const versions = { found: failure.found, needed: `Redis ${NEEDED_VERSION}` };
      return oldRedis({ connection: name, address, ...versions, consequence }, { cause: failure });
    }
    const said = failure ?? refusal ?? (error === SILENCE ? undefined : error);
    const cause = isReply(error) ? error : said;
    const reason = wordsOf(cause);
    const remedy = remedyOf(cause);
    return new QueueUnavailableError(
      {
        connection: name,
        store: 'Redis',
        address: node ?? address,
        consequence: patience.consequence,
        uncertain,
        ...(isReply(cause) && { refused: true }),
        ...(late && { deadline }),
        ...(reason !== undefined && { reason }),
        ...(origin !== undefined && { origin }),
        ...(remedy !== undefined && { remedy }),
      },
      { cause },
    );
  }

  #replyError(operation: string, consequence: string, cause: Error): Error {
    const { name: connection, address } = this.settings;
    const reply = wordsOf(cause) ?? '';
    return redisRefused({ connection, address, operation, reply, consequence }, { cause });
  }

  // Others may be answered meanwhile, by other masters of a cluster.
  #complain(patience: Patience, failure: Error, node: string | undefined): void {
    const { name, address: whole, logger } = this.settings;
    const address = this.#unanswered.get(patience) ?? node ?? whole;
    const isFirst = !this.#isSilent(address);
    this.#unanswered.set(patience, address);
    if (!isFirst) return;
    logger.warn(
      { connection: name, address },
      `${failure.message} A call without an answer is repeated until Redis gives it.`,
    );
  }

  #isSilent(address: string): boolean {
    return [...this.#unanswered.values()].includes(address);
  }

  #pause(milliseconds: Milliseconds): Promise<void> {
    return new Promise((resolve) => void this.settings.clock.after(milliseconds, resolve, true));
  }
}
