/**
 * The program of the thread that keeps leases. It hears from the worker which jobs it holds, and opens a store of its own
 * when the first of them has run for a while. Where the event loop of the worker stands still past the timeout of a job,
 * it records that in its place.
 */
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { type Milliseconds, monotonicOrigin, type Seconds, systemClock } from '../clock/clock';
import { errorMessage, toError } from '../failed/exception-text';
import type { Settlement, StoreThread } from '../queue/connection';
import { BlockedLoop } from './blocked-loop';
import { type HeldReservation, unpack } from './held-reservation';
import { CLOSE, ENDED, HERE, NOTHING_OPEN, STORE_OPEN } from './lease-messages';
import type { FromThread, LeaseThreadData, ToThread } from './lease-messages';
import { LeaseRenewal, pagesOf } from './lease-renewal';
import { OverdueWatch } from './overdue-watch';
import { BLOCKED } from './supervision';

/** For the store to take the outcomes of a process that is about to end. */
const SETTLE_DEADLINE: Milliseconds = 5000;

/** Jobs that are named. */
const NAMED = 5;

interface StoreModule {
  readonly open: (data: unknown, deadline: Seconds) => StoreThread;
}

const { threadAccess, lease, origin, state, whenBlocked, ofMainThread } = workerData as LeaseThreadData;
/** From the worker's clock to that of this thread. */
const shift = origin - monotonicOrigin();
const held = new Map<number, HeldReservation>();
let store: Promise<StoreThread> | undefined;
/** The event loop stands still, and that was said. */
let told = false;
/** The process is about to end by this thread. */
let ending = false;

const tell = (message: FromThread): void => parentPort!.postMessage(message, []);

const renewal = new LeaseRenewal<HeldReservation>({
  lease,
  clock: systemClock,
  renew: async (reservations, seconds) => (await opened()).renew(reservations, seconds),
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
  held: () => held.values(),
  ask: () => tell({ kind: 'ask' }),
  blocked: (overdue) => void actFor(overdue),
});

parentPort!.on('message', (message: ToThread) => {
  if (message === CLOSE) {
    void close();
    return;
  }
  told = false;
  watch.answered();
  if (message === HERE) return;
  for (const number of message.dropped) drop(number);
  if (message.kept === undefined) return;
  const kept = unpack(message.kept, shift);
  for (const one of kept) held.set(one.number, one);
  renewal.keep(kept);
  if (whenBlocked !== 'wait') watch.start();
});

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
  if (Atomics.compareExchange(state, 0, NOTHING_OPEN, STORE_OPEN) === ENDED) return new Promise(() => undefined);
  const { module, data } = threadAccess;
  const loaded = (await import(pathToFileURL(module).href)) as StoreModule;
  // A call that waits for longer leaves no time for another one.
  return loaded.open(data, lease / 3);
}

function drop(number: number): void {
  const one = held.get(number);
  if (one === undefined) return;
  held.delete(number);
  renewal.drop(one);
}

/** Records what the worker cannot. Other jobs are given up only if the process ends: else they go on with the event loop. */
async function actFor(overdue: readonly HeldReservation[]): Promise<void> {
  const ends = whenBlocked === 'end-process';
  ending ||= ends;
  const others = ends ? [...held.values()].filter((one) => !overdue.includes(one)) : [];
  for (const { number } of [...overdue, ...others]) drop(number);
  const loop = new BlockedLoop();
  const account = accountOf(overdue, others.length, ofMainThread ? await loop.hold() : []);
  if (!ends) loop.letGo();
  if (!told) say(account);
  told = true;
  // A store that does not answer is no reason to leave the process as it is: the leases end by themselves then.
  if (ends) systemClock.after(SETTLE_DEADLINE, () => loop.endProcess(BLOCKED), true);
  try {
    await settle([...overdue.map(({ timedOut }) => timedOut), ...others.map(({ givenUp }) => givenUp)]);
  } catch (error) {
    const message = errorMessage(toError(error));
    if (ends) say(`That was not recorded: ${message}`);
    else tell({ kind: 'failed', message });
  }
  if (ends) loop.endProcess(BLOCKED);
  else tell({ kind: 'blocked', numbers: overdue.map(({ number }) => number), account });
}

async function settle(settlements: readonly Settlement[]): Promise<void> {
  const recorder = await opened();
  for (const page of pagesOf(settlements)) await recorder.settle(page);
}

function accountOf(overdue: readonly HeldReservation[], others: number, frames: readonly string[] | undefined): string {
  const names = overdue.slice(0, NAMED).map(nameOf);
  if (overdue.length > NAMED) names.push(`${overdue.length - NAMED} more`);
  const end =
    whenBlocked === 'end-process'
      ? `The process ends; other jobs that go back at no cost in tries: ${others}.`
      : 'The worker goes on when its event loop does.';
  const place =
    frames === undefined
      ? ' It waits in native code, such as execSync().'
      : frames.map((frame) => `\n    at ${frame}`).join('');
  return (
    `The event loop of process ${process.pid} stands still past timeout and grace of ${names.join(', ')}: ` +
    `recorded as timed out. ${end} Put such work into a worker thread or a process.${place}`
  );
}

function nameOf({ reservation }: HeldReservation): string {
  try {
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-imports -- most threads never need it
    const { decodeEnvelope } = require('../payload/envelope') as typeof import('../payload/envelope');
    const { displayName, id = 'without an id' } = decodeEnvelope(reservation.payload);
    return `${displayName} ${id}`;
  } catch {
    return 'a job';
  }
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
  renewal.close();
  watch.close();
  await (await store)?.close();
  process.exit();
}
