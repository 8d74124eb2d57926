/** Reserves jobs from the tubes of a worker, in the order of its queues. */
import { sleep, within, type Seconds } from '../../base/clock';
import {
  afterReserve,
  fenceOf,
  hasId,
  noCounters,
  readCounters,
  readCountersOfAny,
  readId,
  withCounters,
  withId,
  type Counters,
} from '../../payload/counters';
import type { Reservation, ReserveReply, Wanted } from '../contract';
import { MOST_BYTES, MOST_JOBS } from '../../base/collections';
import { Held, type KnownJob, type RawJob } from './settle';
import { pastOf, sumOf } from './marks';
import { tubeCounts, wholeSeconds, type TubeCounts } from './link';
import type { Reserver, Reservers } from './reserver';
import type { Tubes } from './tubes';
import type { Listening, Wake } from '../kit/connection';

/** How many jobs are asked for in one go: their texts may be long. */
const AT_ONCE = 25;
/** A reserve that hands out jobs does not ask when the delayed ones are due; it looks again after this time. */
const LOOK_AGAIN: Seconds = 1;

/** A job, and the counters in its body. */
interface Read {
  readonly job: KnownJob;
  /** Undefined if it is not a JSON object: the worker that runs it fails it, byte for byte. */
  readonly written: Counters | undefined;
  /** Including the reservations before this one, by the server. */
  readonly before: Counters;
  readonly identified: boolean;
}

export class Reserve {
  readonly #reservers: Reservers;
  readonly #request: Wanted;
  readonly #queues: ReadonlyMap<string, string>;
  /**
   * The server's counts of each tube, from when the first tube was reserved from. Some ready jobs are taken meanwhile; the
   * reserved ones are those of others, and our earlier ones.
   */
  #tubes: ReadonlyMap<string, TubeCounts> | undefined;
  #bytes = 0;
  /** Reserved, but not described yet. */
  readonly #raw: RawJob[] = [];

  constructor(reservers: Reservers, tubes: Tubes, request: Wanted) {
    this.#reservers = reservers;
    this.#request = request;
    this.#queues = new Map(request.queues.map((queue) => [tubes.of(queue), queue]));
  }

  /** @throws QueueUnavailableError */
  async run(): Promise<ReserveReply> {
    const reserver = await this.#reservers.usable('no job was reserved');
    let caught = this.#reservers.takeAwaited([...this.#queues.keys()]);
    try {
      const ownBefore = this.#countHeld() + caught.length;
      caught = await this.#catch(reserver, caught);
      return await this.#handOut(reserver, caught, ownBefore);
    } catch (error) {
      // Nobody will run these jobs.
      reserver.abandon(this.#raw);
      await giveBack(caught);
      throw error;
    }
  }

  async #catch(reserver: Reserver, awaited: readonly KnownJob[]): Promise<readonly KnownJob[]> {
    let room = this.#request.limit;
    for (const tube of this.#queues.keys()) {
      room -= awaited.filter((job) => job.tube === tube).length;
      room -= await this.#take(reserver, tube, room);
    }
    const known = [...awaited, ...(await reserver.describe(this.#raw.splice(0)))];
    return [...this.#queues.keys()].flatMap((tube) => known.filter((job) => job.tube === tube));
  }

  async #take(reserver: Reserver, tube: string, room: number): Promise<number> {
    let taken = 0;
    for (;;) {
      const limit = Math.max(0, Math.min(room - taken, AT_ONCE));
      const state = this.#tubes?.get(tube);
      const isFull = limit === 0 || this.#bytes >= MOST_BYTES || taken >= MOST_JOBS;
      if (state !== undefined && (isFull || state.ready === 0)) return taken;
      const names = [...this.#queues.keys()];
      const asked = state === undefined ? names.map((name) => `stats-tube ${name}`) : [];
      const { jobs, others } = await reserver.take(tube, limit, asked);
      if (state === undefined) {
        this.#tubes = new Map(names.map((name, index) => [name, tubeCounts(others[index]!)]));
        this.#tubes.get(tube)!.reserved -= jobs.length;
      } else state.ready = jobs.length < limit ? 0 : Math.max(state.ready - jobs.length, 0);
      taken += jobs.length;
      this.#raw.push(...jobs);
      for (const { body } of jobs) this.#bytes += body.length;
    }
  }

  async #handOut(reserver: Reserver, caught: readonly KnownJob[], ownBefore: number): Promise<ReserveReply> {
    const { limit, lease } = this.#request;
    const kept = caught.slice(0, limit).map(read);
    const back = caught.slice(limit);
    await giveBack(back);
    const nextIn = back.length > 0 ? 0 : await this.#nextIn(reserver, kept.length, ownBefore);
    const names = new Set<string>();
    for (const { name } of this.#reservers.held()) names.add(name);
    return {
      reservations: kept.map((one) => this.#hold(one, lease, names)),
      setAside: [],
      nextIn,
    };
  }

  #hold({ job, before, written, identified }: Read, lease: Seconds, names: Set<string>): Reservation {
    const counters = afterReserve(before);
    let payload = job.body;
    if (written !== undefined) {
      payload = withCounters(payload, counters);
      // Two jobs with the same id at once are still two jobs.
      if (!identified || names.has(nameOf(payload, counters))) payload = withId(payload, ownId(job));
    }
    const token = new Held(job, written, nameOf(payload, counters));
    names.add(token.name);
    job.reserver.keep(token, lease);
    return { queue: this.#queues.get(job.tube)!, payload, counters, token };
  }

  /** How many jobs of these tubes this process holds. */
  #countHeld(): number {
    let count = 0;
    for (const { job } of this.#reservers.held()) if (this.#queues.has(job.tube)) count += 1;
    return count;
  }

  async #nextIn(reserver: Reserver, taken: number, ownBefore: number): Promise<Seconds> {
    const states = [...(this.#tubes ?? [])];
    if (states.some(([, { ready }]) => ready > 0)) return 0;
    const { clock } = reserver.caller.settings;
    let next = Infinity;
    for (const { job, keptAt } of this.#reservers.held()) {
      if (this.#queues.has(job.tube)) next = Math.min(next, (keptAt + job.ttr - clock.monotonic()) / 1000);
    }
    // The server does not say when the lease of somebody else's job ends.
    let reserved = 0;
    for (const [, state] of states) reserved += state.reserved;
    if (reserved > ownBefore) next = Math.min(next, this.#request.lease);
    const delayed = states.filter(([, state]) => state.delayed > 0).map(([tube]) => tube);
    if (delayed.length === 0) return Math.max(next, 0);
    const due = taken > 0 ? LOOK_AGAIN : await reserver.nextDue(delayed);
    return Math.max(Math.min(next, due), 0);
  }
}

function read(job: KnownJob): Read {
  const { body } = job;
  const canonical = readCounters(body);
  const identified = hasId(body);
  // Our counters may follow a text that is not JSON, but an id cannot.
  const any = canonical === undefined || !identified ? readCountersOfAny(body) : undefined;
  const written = !identified && any === undefined ? undefined : (canonical?.counters ?? any);
  const past = pastOf(job.facts);
  return { job, written, before: sumOf(written ?? noCounters, past), identified };
}

/** The id of a job without one; the same in each of its reservations, as long as the server runs. */
const ownId = ({ id, reserver }: KnownJob): string => `beanstalkd-${reserver.link.facts.get('id')}-${id}`;

const nameOf = (payload: Buffer, counters: Counters): string => `${readId(payload)} ${fenceOf(counters)}`;

async function giveBack(jobs: readonly KnownJob[]): Promise<void> {
  await Promise.all(jobs.map((job) => job.reserver.giveBack(job)));
}

/** Pause if no connection is left to wait on. */
const PAUSE: Seconds = 0.25;

/**
 * Waits for work by a reserve that the server answers when there is some. The next reserve hands out the job that it brings;
 * if nobody waits any more, the job is given back unseen.
 *
 * The wait of all workers of these tubes.
 */
export class TubeWait implements Listening {
  /** How long a reserve waits on the server, even if nobody waits for it any more. */
  readonly longest: Seconds = 2;
  readonly #reservers: Reservers;
  readonly #tubes: readonly string[];
  readonly #wakes = new Set<Wake>();
  #isReserving = false;
  #isOver = false;
  /** The connection it waits on. */
  #reserver: Reserver | undefined;

  constructor(reservers: Reservers, tubes: readonly string[]) {
    this.#reservers = reservers;
    this.#tubes = tubes;
  }

  readonly listen = (wake: Wake, seconds: Seconds): (() => void) => {
    if (this.#reservers.hasAwaited(this.#tubes)) wake();
    else {
      this.#wakes.add(wake);
      if (!this.#isReserving) void this.#reserve(wholeSeconds(seconds));
    }
    return () => void this.#wakes.delete(wake);
  };

  get isIdle(): boolean {
    return this.#wakes.size === 0 && !this.#isReserving;
  }

  /** The connection closes. */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const job of this.#reservers.takeAwaited(this.#tubes)) await job.reserver.giveBack(job);
    const reserver = this.#reserver;
    if (reserver === undefined) return;
    const { link, caller } = reserver;
    this.#reservers.remove(reserver);
    // The server answers a wait at once when it hears that nothing more will come.
    link.finish();
    await within(caller.settings.clock, caller.deadline, link.ended).catch(() => link.close());
  }

  async #reserve(seconds: Seconds): Promise<void> {
    this.#isReserving = true;
    try {
      const reserver = await this.#reservers.idle('no job was waited for');
      if (reserver === undefined) await sleep(this.#reservers.clock, PAUSE * 1000, false);
      else if (!this.#isOver) {
        this.#reserver = reserver;
        const job = await reserver.wait(this.#tubes, seconds);
        if (job !== undefined && this.#wakes.size > 0) this.#reservers.bring(job);
        else if (job !== undefined) await reserver.giveBack(job);
      }
    } catch {
      // The reserve that follows meets the same trouble, and reports it.
    }
    this.#reserver = undefined;
    this.#isReserving = false;
    for (const wake of [...this.#wakes]) wake();
  }
}
