/**
 * The main thread, seen from another one while its event loop stands still: where it is, and how it is made to end.
 *
 * By the inspector, which reaches a thread in the middle of its JavaScript. One that waits in native code, as in
 * `execSync`, is out of its reach: then nothing is known of where it is, and a signal ends the process.
 */
import type { Debugger, Session } from 'node:inspector';
import { isAbsolute, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Clock, type Milliseconds, systemClock } from '../../../base/clock';

/** For the main thread to come to a halt, and for the process to end: a second was too short on a machine under load. */
const REACH: Milliseconds = 3000;

const OURS = `${join(__dirname, '..', '..', '..')}${sep}`;

const IS_DEBUGGED = "process.getBuiltinModule('node:inspector').url() !== undefined";

/** Of the stack: enough to tell who called what. */
const FRAMES = 8;

export class BlockedLoop {
  readonly #clock: Clock;
  readonly #files = new Map<string, string>();
  #session: Session | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /**
   * Whether a debugger is there, also one that came after the start: the main thread may wait at a breakpoint. To be asked
   * first: it finds out whether the thread is in reach, which goes on meanwhile.
   */
  async isDebugged(): Promise<boolean> {
    const session = (this.#session = await connected());
    if (session === undefined) return false;
    const answer = await this.#within<{ readonly debugged: boolean }>((resolve) => {
      session.post('Runtime.evaluate', { expression: IS_DEBUGGED, returnByValue: true }, (_error, reply) =>
        resolve({ debugged: reply?.result?.value === true }),
      );
    });
    if (answer === undefined) this.letGo();
    return answer?.debugged ?? false;
  }

  /** Holds the main thread where it is, and says where, innermost first; undefined: it is out of reach, and not held. */
  async hold(): Promise<readonly string[] | undefined> {
    const session = this.#session;
    if (session === undefined) return undefined;
    const held = await this.#within<Debugger.CallFrame[]>((resolve) => {
      session.on('Debugger.scriptParsed', ({ params }) => this.#files.set(params.scriptId, params.url));
      session.once('Debugger.paused', ({ params }) => resolve(params.callFrames));
      session.post('Debugger.enable');
      session.post('Debugger.pause');
    });
    if (held === undefined) this.letGo();
    return held && this.#places(held);
  }

  /** It goes on. */
  letGo(): void {
    this.#session?.disconnect();
    this.#session = undefined;
  }

  /** With this code where the main thread is held, by a signal otherwise. No `exit` handler runs. */
  endProcess(code: number): void {
    // Node.js would say there that it waits for a debugger, which nobody has.
    const silently = "try { process.getBuiltinModule('node:fs').closeSync(2); } catch {}";
    this.#session?.post('Runtime.evaluate', { expression: `${silently} process.reallyExit(${code});` });
    const kill = (): void => void process.kill(process.pid, 'SIGKILL');
    if (this.#session === undefined) kill();
    else this.#clock.after(REACH, kill, true);
  }

  // Undefined: no answer came.
  #within<T>(ask: (resolve: (answer: T) => void) => void): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(REACH, () => resolve(undefined), true);
      ask((answer) => {
        timer.cancel();
        resolve(answer);
      });
    });
  }

  // What Node.js and we have called on the way says nothing.
  #places(frames: readonly Debugger.CallFrame[]): readonly string[] {
    const places: string[] = [];
    for (const { functionName, location } of frames) {
      const url = this.#files.get(location.scriptId) ?? '';
      const file = url.startsWith('file:') ? fileURLToPath(url) : url;
      if (!isAbsolute(file) || file.startsWith(OURS)) continue;
      const at = `${file}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`;
      places.push(functionName === '' ? at : `${functionName} (${at})`);
    }
    return places.slice(0, FRAMES);
  }
}

// Undefined: this Node.js was built without it.
async function connected(): Promise<Session | undefined> {
  try {
    const { Session: Inspector } = await import('node:inspector');
    const session = new Inspector();
    session.connectToMainThread();
    return session;
  } catch {
    return undefined;
  }
}
