/**
 * The environment that every test file runs in: it fails a file that leaves something open.
 *
 * A socket, server, child process, thread or timer that outlives its file keeps Jest from ending or disturbs later tests,
 * and nobody can tell which file opened it. Here the file itself reports what it left. Whatever was unref'ed keeps nothing
 * alive and does not count.
 */
import async_hooks, { AsyncLocalStorage } from 'node:async_hooks';
import { ChildProcess } from 'node:child_process';
import { Server, Socket } from 'node:net';
import { TestEnvironment } from 'jest-environment-node';
import { shareScripts } from './shared-scripts';

/** Node.js lists these only by kind, so they can only be counted. */
const COUNTED = ['MessagePort', 'FSEventWrap', 'UDPWrap'];

/** Closing takes a few turns of the event loop; whatever is still open after this was forgotten. */
const DEADLINE_MS = 10_000;
const INTERVAL_MS = 10;

interface Handle {
  unref?(): void;
  hasRef?(): boolean;
}

/** Undocumented, but in Node.js from the start: the only way to see which sockets are open, not only how many. */
function openHandles(): Handle[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): Handle[] };
  // The standard streams belong to the process. They are made when any file first writes to them.
  const standard: readonly Handle[] = [process.stdout, process.stderr];
  return handles.call(process).filter((handle) => !standard.includes(handle));
}

function countOpen(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (COUNTED.includes(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

function describeHandle(handle: Handle): string {
  if (handle instanceof ChildProcess) return `process ${handle.pid} (${handle.spawnargs.join(' ')})`;
  if (handle instanceof Server) return `server on ${JSON.stringify(handle.address())}`;
  if (handle instanceof Socket && handle.remoteAddress === undefined)
    return `pipe (descriptor ${(handle as { _handle?: { fd?: number } })._handle?.fd})`;
  if (handle instanceof Socket) return `socket to ${handle.remoteAddress}:${handle.remotePort}`;
  return handle.constructor.name;
}

/** `_destroyed` is undocumented, but `hasRef()` is still true for a timer that has fired or was cleared. */
const isArmed = (timer: NodeJS.Timeout): boolean =>
  timer.hasRef() && !(timer as unknown as { _destroyed: boolean })._destroyed;

/**
 * Node.js 20 asks each storage that was ever used about every promise, for as long as its process lives. Each file makes storages of its
 * own, so a file late in a run would pay for those of a hundred files before it.
 */
const storages = new Set<AsyncLocalStorage<unknown>>();

class KeptStorage<Store> extends AsyncLocalStorage<Store> {
  constructor() {
    super();
    storages.add(this);
  }
}

shareScripts();
Object.assign(async_hooks, { AsyncLocalStorage: KeptStorage });

export default class LeakEnvironment extends TestEnvironment {
  #timers = new Set<NodeJS.Timeout>();
  #mostTimersKept = 1000;
  #handlesBefore = new Set<Handle>();
  #countsBefore = new Map<string, number>();
  /** A test that fails may not come to closing what it opened, and its own error says more. */
  #hasFailed = false;

  override async setup(): Promise<void> {
    await super.setup();
    this.#keepTimers('setTimeout');
    this.#keepTimers('setInterval');
    this.#handlesBefore = new Set(openHandles());
    this.#countsBefore = countOpen();
  }

  /** Called by Jest. */
  readonly handleTestEvent = ({ name }: { readonly name: string }): void => {
    if (name === 'test_fn_failure' || name === 'hook_failure') this.#hasFailed = true;
  };

  override async teardown(): Promise<void> {
    const left = await this.#waitUntilClosed();
    for (const storage of storages) storage.disable();
    storages.clear();
    await super.teardown();
    // Jest would show this error in place of those of the tests.
    if (left.length > 0 && !this.#hasFailed)
      throw new Error(`This file left open: ${left.join(', ')}. Close what its tests open.`);
  }

  async #waitUntilClosed(): Promise<string[]> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      // A server that was just told to listen opens its socket a turn later.
      await new Promise((resolve) => {
        setTimeout(resolve, INTERVAL_MS);
      });
      const timers = [...this.#timers].filter(isArmed);
      const handles = openHandles().filter((handle) => !this.#handlesBefore.has(handle));
      const left = [...handles.map(describeHandle), ...this.#countsAbove(), ...timers.map(() => 'a timer')];
      if (left.length === 0) return left;
      if (Date.now() > deadline) {
        // They are reported below, and must not keep Jest from ending as well.
        for (const handle of [...handles, ...timers]) handle.unref?.();
        return left;
      }
    }
  }

  #countsAbove(): string[] {
    return [...countOpen()]
      .map(([kind, count]) => ({ kind, more: count - (this.#countsBefore.get(kind) ?? 0) }))
      .filter(({ more }) => more > 0)
      .map(({ kind, more }) => `${more} × ${kind}`);
  }

  /** Records only timers of the file itself, because Jest and Node.js set timers in the same process too. */
  #keepTimers(name: 'setTimeout' | 'setInterval'): void {
    const arm = this.global[name] as (...parameters: unknown[]) => NodeJS.Timeout;
    const armAndKeep = (...parameters: unknown[]): NodeJS.Timeout => {
      const timer = arm(...parameters);
      this.#timers.add(timer);
      if (this.#timers.size > this.#mostTimersKept) this.#forgetEndedTimers();
      return timer;
    };
    // `util.promisify` and fake timers read properties of the function.
    Object.assign(this.global, { [name]: Object.defineProperties(armAndKeep, Object.getOwnPropertyDescriptors(arm)) });
  }

  /** A file may set a million timers, one after another. */
  #forgetEndedTimers(): void {
    this.#timers = new Set([...this.#timers].filter(isArmed));
    this.#mostTimersKept = 2 * this.#timers.size + 1000;
  }
}
