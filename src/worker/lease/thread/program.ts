/**
 * The program of the thread that keeps leases. It sees in shared memory which jobs the worker holds, and opens a store of its own
 * when the first of them has run for a while. Where the event loop of the worker stands still past the timeout of a job,
 * it records that in its place.
 */
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { type Milliseconds, monotonicOrigin, type Seconds, systemClock, type Timer } from '../../../clock/clock';
import { errorMessage, toError } from '../../../failed/exception-text';
import type { Settlement, SettleResult, StoreThread } from '../../../queue/connection';
import { pagesOf } from '../../../queue/pages';
import { blockedAccount } from './blocked-account';
import { BlockedLoop } from './blocked-loop';
import type { HeldReservation } from './held-reservation';
import { CLOSE, ENDED, HERE, LOOK, LOOKING, NOTHING_OPEN, STORE, STORE_OPEN } from '../messages';
import type { FromThread, LeaseThreadData, ToThread } from '../messages';
import { LeaseReader } from './reader';
import { bytesOf, LeaseRenewal, LOOK as RENEWAL_LOOK } from '../renewal';
import { OverdueWatch } from './overdue-watch';
import { BLOCKED } from '../../supervision';

/** For the store to take the outcomes of a process that is about to end. */
const SETTLE_DEADLINE: Milliseconds = 5000;

const UNANSWERED = 'the store has not answered';

/** What the store has said to each. */
type Results = Map<Settlement, SettleResult>;

interface StoreModule {
  readonly open: (data: unknown, deadline: Seconds) => StoreThread;
}

/** Between two looks at the pages; with short leases less. */
const LONGEST_PAUSE: Milliseconds = 500;

/** Looks that found nothing, after which the worker has to say that there is something. */
const EMPTY_LOOKS = 4;

const { threadAccess, lease, clockOrigin, origin, state, whenBlocked, ofMainThread } = workerData as LeaseThreadData;
const held = new Map<number, HeldReservation>();
let store: Promise<StoreThread> | undefined;
/** The event loop stands still, and that was said. */
let told = false;
/** What is to be done about it is being done. */
let acting = false;
/** The worker has not been heard since it was last asked. */
let silent = false;
/** The process is about to end by this thread. */
let ending = false;
let timer: Timer | undefined;
let emptyLooks = 0;

const tell = (message: FromThread): void => parentPort!.postMessage(message, []);

const renewal = new LeaseRenewal<HeldReservation>({
  lease,
  clock: systemClock,
  renew: async (reservations, seconds) => (await opened()).renew(reservations, seconds),
  refresh: () => reader.look(),
  lost: ({ number }) => {
    held.delete(number);
    tell({ kind: 'lost', number });
  },
  cancelled: ({ number }) => tell({ kind: 'cancelled', number }),
  // The worker sees it by itself.
  ended: () => undefined,
  failed: (error) => tell({ kind: 'failed', message: errorMessage(toError(error)) }),
  recovered: () => tell({ kind: 'recovered' }),
});

const watch = new OverdueWatch<HeldReservation>({
  clock: systemClock,
  held: () => {
    reader.look();
    return held.values();
  },
  ask: () => {
    silent = true;
    tell({ kind: 'ask' });
  },
  blocked: (overdue) => void actFor(overdue),
});

const reader = new LeaseReader({
  // From the worker's clock to that of this thread.
  origin: origin + clockOrigin - monotonicOrigin(),
  found: (one) => {
    held.set(one.number, one);
    renewal.keep([one]);
    if (whenBlocked !== 'wait') watch.start();
  },
  gone: drop,
});

parentPort!.on('message', (message: ToThread) => {
  if (message === CLOSE) void close();
  else if (message === HERE) {
    told = false;
    silent = false;
    watch.answered();
  } else if (message === LOOK) look();
  else if ('page' in message) {
    reader.addPage(message.page);
    look();
  } else if ('settled' in message) reader.forget(message.settled);
  else {
    const { number, reservation } = message;
    reader.send(number, { ...reservation, payload: Buffer.from(reservation.payload.buffer) });
  }
});

/** Until there was nothing for a while: a thread of a worker that waits has no timer. */
function look(): void {
  timer?.cancel();
  emptyLooks = reader.look() ? 0 : emptyLooks + 1;
  if (emptyLooks > EMPTY_LOOKS) {
    // Said before the last look: what comes after that is seen by it, or the worker reads this.
    Atomics.store(state, LOOKING, 0);
    if (!reader.look()) return;
    Atomics.store(state, LOOKING, 1);
    emptyLooks = 0;
  }
  timer = systemClock.after(Math.min(lease * 1000 * RENEWAL_LOOK, LONGEST_PAUSE), look);
}

function opened(): Promise<StoreThread> {
  if (store === undefined) {
    store = openStore();
    // Where it cannot even be opened, this thread is of no use, and ends: the event loop takes its place.
    store.catch((error: unknown) => {
      if (!ending) throw error;
    });
  }
  return store;
}

async function openStore(): Promise<StoreThread> {
  // The worker has ended, and this thread is about to.
  if (Atomics.compareExchange(state, STORE, NOTHING_OPEN, STORE_OPEN) === ENDED) return new Promise(() => undefined);
  const { module, data } = threadAccess;
  const loaded = (await import(pathToFileURL(module).href)) as StoreModule;
  // A call that waits for longer leaves no time for another one.
  return loaded.open(data, lease / 3);
}

function drop(one: HeldReservation): void {
  held.delete(one.number);
  renewal.drop(one);
}

async function actFor(overdue: readonly HeldReservation[]): Promise<void> {
  if (acting) return;
  acting = true;
  const loop = new BlockedLoop();
  // Whoever looks at a breakpoint must not have the process end under their hands; it is asked again with the next look.
  const debugged = await loop.isDebugged();
  const late = silent ? overdue.filter(({ number }) => held.has(number)) : [];
  if (debugged || late.length === 0) loop.letGo();
  else await record(late, loop);
  acting = false;
}

/** Records what the worker cannot. Other jobs are given up only if the process ends: else they go on with the event loop. */
async function record(overdue: readonly HeldReservation[], loop: BlockedLoop): Promise<void> {
  const ends = whenBlocked === 'end-process';
  ending ||= ends;
  const others = ends ? [...held.values()].filter((one) => !overdue.includes(one)) : [];
  if (ends) for (const one of [...overdue, ...others]) drop(one);
  const frames = ofMainThread ? await loop.hold() : [];
  if (!ends) loop.letGo();
  const timeouts = overdue.map(({ timedOut }) => timedOut);
  const settlements = [...timeouts, ...others.map(({ givenUp }) => givenUp)];
  const results: Results = new Map();
  const conclude = (why: string | undefined): string => {
    const returned = settlements.filter((one) => one.outcome === 'released' && results.get(one) === 'settled');
    const timedOut = timeouts.flatMap((one) => results.get(one) ?? []);
    const back = returned.length - timedOut.filter((result) => result === 'settled').length;
    const account = blockedAccount({
      pid: process.pid,
      overdue: overdue.map(({ reservation }) => reservation),
      results: timedOut,
      why,
      end: ends ? { returned: back, left: settlements.length - results.size } : undefined,
      frames,
    });
    if (!told) say(account);
    told = true;
    return account;
  };
  const end = (why: string | undefined): void => {
    conclude(why);
    loop.endProcess(BLOCKED);
  };
  // A store that does not answer is no reason to leave the process as it is: the leases end by themselves then.
  if (ends) systemClock.after(SETTLE_DEADLINE, () => end(UNANSWERED), true);
  const why = await settle(settlements, results);
  if (ends) return end(why);
  const recorded = overdue.filter((_, at) => results.has(timeouts[at]!));
  for (const one of recorded) drop(one);
  const numbers = recorded.map(({ number }) => number);
  tell({ kind: 'blocked', numbers, account: conclude(why) });
}

/** Notes what the store says to each, for as long as it answers; gives the reason why it does not. */
async function settle(settlements: readonly Settlement[], results: Results): Promise<string | undefined> {
  try {
    const recorder = await opened();
    const waits: Promise<unknown>[] = [];
    for (const page of pagesOf(settlements, bytesOf)) {
      const answers = await recorder.settle(page);
      page.forEach((one, at) => {
        const answer = answers[at]!;
        if (typeof answer === 'string') results.set(one, answer);
        else waits.push(answer.later.then((result) => results.set(one, result)));
      });
    }
    return waits.length === 0 ? undefined : await unanswered(waits);
  } catch (error) {
    return errorMessage(toError(error));
  }
}

// A part of the store that is silent keeps nobody from hearing of the others.
function unanswered(waits: readonly Promise<unknown>[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.after(SETTLE_DEADLINE, () => resolve(UNANSWERED));
    Promise.all(waits)
      .finally(() => timer.cancel())
      .then(() => resolve(undefined), reject);
  });
}

// Not by process.stderr, which goes by way of the event loop that stands still.
function say(text: string): void {
  try {
    writeSync(2, `onqueue: ${text}\n`);
  } catch {
    // A full pipe that nobody reads is no reason to stop here.
  }
}

async function close(): Promise<void> {
  timer?.cancel();
  renewal.close();
  watch.close();
  await (await store)?.close();
  process.exit();
}
