/** `throttleExceptions`: after so many failures nobody tries for a while. */
import { timeOf, type Milliseconds, type Seconds } from '../base/clock';
import { Recent } from '../base/collections';
import type { Application, OperationsConnection } from '../connections/application';
import { isStoreAway } from '../connections/errors';
import { durationSeconds, warnOfManySeconds, type Duration } from '../job/duration';
import { invalidMiddlewareArgument } from '../job/errors';
import { errorTest, type ErrorTest, type Middleware } from '../job/middleware';
import { MOST_TRIES, stepAside } from './conflict';
import { answerOf, keyText, keeperOf, limitedJob, LIMIT, nameOf, putOff, reportAway } from './deferral';
import type { RunningJob } from '../worker/running-job';

export interface ThrottleOptions {
  /** So many failures open the circuit: a whole number from 1 to 1000. */
  readonly after: number;
  /** They count if they came within this time, in seconds or as `'1m'`. */
  readonly within: Duration;
  /** For so long nobody tries: seconds, or `'5m'`. */
  readonly wait: Duration;
  /** Only these errors count. Default: all that a job throws. */
  readonly only?: readonly ErrorTest[] | undefined;
  /** Jobs of all classes with this key count and wait together. Default: each class by itself. */
  readonly key?: string | number | undefined;
}

interface Settings {
  readonly after: number;
  readonly within: Milliseconds;
  readonly wait: Milliseconds;
  readonly key: string | undefined;
  readonly counts: (error: unknown) => boolean;
}

const LAYER = 'throttleExceptions()';
/** How long what was read is used, so that a healthy service costs few calls. */
const READ_EVERY: Milliseconds = 1000;
const MOST_KEYS = 1000;
const MOST_FAILURES = 1000;

/** What is kept of a key. */
interface Failures {
  /** The moments of the last ones. */
  readonly at: readonly Milliseconds[];
  /** Nobody tries before. */
  readonly until: Milliseconds;
}

/**
 * Stops calling a service that is down. After `after` failures within `within`, jobs are put off for `wait`, at no cost in tries,
 * instead of being run. The first failure after that opens the circuit again if it comes within `within`. An attempt that fails is
 * an ordinary one.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT, E_INVALID_DURATION
 */
export function throttleExceptions(options: ThrottleOptions): Middleware {
  const settings = checkedOptions(options);
  return {
    async handle(context, next) {
      const job = limitedJob(LAYER, context);
      const circuit = Circuit.for(job, settings.key);
      const left = await answerOf(job, () => circuit.left(settings));
      if (left === undefined) return undefined;
      // Not all at once, when it is over.
      if (left > 0) return putOff(job, LAYER, (left + (settings.wait / 10) * job.application.random()) / 1000);
      try {
        return await next();
      } catch (error) {
        if (!job.signal.aborted && settings.counts(error)) await circuit.count(job, settings);
        throw error;
      }
    },
  };
}

const circuits = new WeakMap<OperationsConnection, Recent<string, Circuit>>();

/** What this process knows of one key. */
class Circuit {
  readonly #id: string;
  readonly #application: Application;
  readonly #keeper: OperationsConnection;
  #text: string | undefined;
  #failures: Failures = { at: [], until: 0 };
  /** By the monotonic clock. */
  #readAt: Milliseconds = -Infinity;
  #reading: Promise<void> | undefined;

  /** @throws E_NO_RECORDS */
  static for(job: RunningJob, key: string | undefined): Circuit {
    const keeper = keeperOf(job);
    const known = circuits.get(keeper) ?? new Recent<string, Circuit>(MOST_KEYS);
    circuits.set(keeper, known);
    const id = nameOf('throttle', key === undefined ? job.name : '', key ?? '');
    return known.ensure(id, () => new Circuit(id, job.application, keeper));
  }

  private constructor(id: string, application: Application, keeper: OperationsConnection) {
    this.#id = id;
    this.#application = application;
    this.#keeper = keeper;
  }

  /** For how long nobody tries yet. @throws what the store throws */
  async left(settings: Settings): Promise<Milliseconds> {
    const isOld = this.#application.clock.monotonic() - this.#readAt >= READ_EVERY;
    if (isOld) await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)));
    const now = await timeOf(this.#keeper, this.#application.clock);
    return presentOf(this.#failures, now, settings).until - now;
  }

  /** Never throws: the job has failed with an error of its own. */
  async count(job: RunningJob, settings: Settings): Promise<void> {
    try {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        await this.#read();
        const now = await timeOf(this.#keeper, this.#application.clock);
        const next = failedOnce(presentOf(this.#failures, now, settings), now, settings);
        if (next === undefined || (await this.#write(next, job, settings))) return;
        await stepAside(this.#application, tries + 1);
      }
    } catch (error) {
      if (isStoreAway(error)) reportAway(job, error);
      else this.#application.report(error, { job, during: `${LAYER} in ${job.name}` });
    }
  }

  async #read(): Promise<void> {
    const text = await this.#keeper.records.get(LIMIT, this.#id);
    this.#know(text, failuresIn(text));
  }

  /** False if another process has written meanwhile. */
  async #write(next: Failures, { id, fence }: RunningJob, { within, wait }: Settings): Promise<boolean> {
    // Two processes must not write the same text: each would take it for its own.
    const value = JSON.stringify([`${id}.${fence}`, next.until, ...next.at]);
    const record = { kind: LIMIT, id: this.#id, value };
    const isWritten = await this.#keeper.records.replace(record, this.#text, (within + 2 * wait) / 1000);
    if (isWritten) this.#know(value, next);
    return isWritten;
  }

  #know(text: string | undefined, failures: Failures): void {
    this.#text = text;
    this.#failures = failures;
    this.#readAt = this.#application.clock.monotonic();
  }
}

/**
 * Without what lies further ahead than any pause of now: it was written while the clock of the store was wrong, and would hold back
 * all for as long. Twice, as another program may have a longer pause.
 */
function presentOf({ at, until }: Failures, now: Milliseconds, { wait }: Settings): Failures {
  const end = now + 2 * wait;
  return { at: at.filter((moment) => moment <= end), until: until > end ? 0 : until };
}

/** What is kept after one more failure. Undefined if nobody should have tried: that attempt had begun before. */
function failedOnce(
  { at, until }: Failures,
  now: Milliseconds,
  { after, within, wait }: Settings,
): Failures | undefined {
  if (until > now) return undefined;
  const recent = [...at.filter((moment) => moment > now - within), Math.round(now)].slice(-after);
  if (recent.length < after) return { at: recent, until: 0 };
  // The pause does not make them older, so that one more opens it again.
  return { at: recent.slice(1).map((moment) => moment + wait), until: Math.round(now + wait) };
}

function failuresIn(text: string | undefined): Failures {
  try {
    const [, until, ...at] = JSON.parse(text ?? '[]') as [string, number, ...number[]];
    if ([until, ...at].every((moment) => Number.isFinite(moment))) return { until, at };
  } catch {
    // Counts as empty, and is overwritten by the next failure.
  }
  return { at: [], until: 0 };
}

function checkedOptions(options: unknown): Settings {
  if (typeof options !== 'object' || options === null) throw invalidMiddlewareArgument(LAYER, options, OPTIONS);
  const { after, within, wait, only, key, ...others } = options as Readonly<Record<string, unknown>>;
  const isMissing = after === undefined || within === undefined || wait === undefined;
  if (isMissing || Object.keys(others).length > 0) throw invalidMiddlewareArgument(LAYER, options, OPTIONS);
  const isNumber = Number.isSafeInteger(after) && (after as number) >= 1 && (after as number) <= MOST_FAILURES;
  if (!isNumber) throw invalidMiddlewareArgument(LAYER, after, AFTER);
  if (only !== undefined && !Array.isArray(only)) throw invalidMiddlewareArgument(LAYER, only, ONLY);
  warnOfManySeconds(wait, `wait of ${LAYER}`);
  return {
    after: after as number,
    within: spanOf('within', within),
    wait: spanOf('wait', wait),
    key: key === undefined ? undefined : keyText(LAYER, key),
    counts: only === undefined ? () => true : errorTest(LAYER, only as readonly unknown[], ONLY),
  };
}

function spanOf(option: string, value: unknown): Milliseconds {
  const seconds: Seconds = durationSeconds(value, `${option} of ${LAYER}`);
  if (seconds <= 0) throw invalidMiddlewareArgument(LAYER, value, `${option} is a time above 0.`);
  return seconds * 1000;
}

const OPTIONS =
  "Give { after, within, wait }, such as { after: 5, within: '1m', wait: '5m' }, and only: [GatewayError].";
const AFTER = `after is a whole number from 1 to ${MOST_FAILURES}.`;
const ONLY = 'only is a list of error classes, or functions of the error: only: [GatewayError].';
