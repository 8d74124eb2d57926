/**
 * The environment that every test file runs in: it fails a file that leaves something open.
 *
 * A socket, server, child process, thread or timer that outlives its file keeps Jest from ending, or speaks to the tests
 * that come after it, and nobody finds whose it was; here the file itself says what it left. What was unref'ed keeps
 * nothing alive and does not count.
 */
import { ChildProcess } from 'node:child_process';
import { Server, Socket } from 'node:net';
import { TestEnvironment } from 'jest-environment-node';

/** Node.js lists these only by kind, so they are counted. */
const COUNTED = ['MessagePort', 'FSEventWrap', 'UDPWrap'];

/** Closing takes a few turns of the event loop; what is still open after this was forgotten. */
const DEADLINE_MS = 3000;
const INTERVAL_MS = 10;

interface Handle {
  unref?(): void;
  hasRef?(): boolean;
}

/** Undocumented, and there since the first Node.js: the only way to see which socket is open, not only how many. */
function openHandles(): Handle[] {
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): Handle[] };
  // Made when they are first written to, by whichever file that is, and the process's own.
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

/** `_destroyed` is undocumented; a timer that has fired or was cleared still says `hasRef()`. */
const isArmed = (timer: NodeJS.Timeout): boolean =>
  timer.hasRef() && !(timer as unknown as { _destroyed: boolean })._destroyed;

export default class LeakEnvironment extends TestEnvironment {
  #timers = new Set<NodeJS.Timeout>();
  #mostTimersKept = 1000;
  #handlesBefore = new Set<Handle>();
  #countsBefore = new Map<string, number>();

  override async setup(): Promise<void> {
    await super.setup();
    this.#keepTimers('setTimeout');
    this.#keepTimers('setInterval');
    this.#handlesBefore = new Set(openHandles());
    this.#countsBefore = countOpen();
  }

  override async teardown(): Promise<void> {
    const left = await this.#waitUntilClosed();
    await super.teardown();
    if (left.length > 0) throw new Error(`This file left open: ${left.join(', ')}. Close what its tests open.`);
  }

  async #waitUntilClosed(): Promise<string[]> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      // A server that was told to listen a moment ago opens its socket a turn later.
      await new Promise((resolve) => {
        setTimeout(resolve, INTERVAL_MS);
      });
      const timers = [...this.#timers].filter(isArmed);
      const handles = openHandles().filter((handle) => !this.#handlesBefore.has(handle));
      const left = [...handles.map(describeHandle), ...this.#countsAbove(), ...timers.map(() => 'a timer')];
      if (left.length === 0) return left;
      if (Date.now() > deadline) {
        // Reported below; they must not keep Jest from ending as well.
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

  /** Records what the file itself arms: Jest and Node.js arm timers of their own in the same process. */
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

  /** A file may arm a million timers, one after the other. */
  #forgetEndedTimers(): void {
    this.#timers = new Set([...this.#timers].filter(isArmed));
    this.#mostTimersKept = 2 * this.#timers.size + 1000;
  }
}
