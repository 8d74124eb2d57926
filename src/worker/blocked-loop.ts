/**
 * The main thread, seen from another one while its event loop stands still: where it is, and how it is made to end.
 *
 * By the inspector, which reaches a thread in the middle of its JavaScript. One that waits in native code, as in
 * `execSync`, is out of its reach: then nothing is known of where it is, and a signal ends the process.
 */
import type { Debugger, Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import { type Clock, type Milliseconds, systemClock } from '../clock/clock';

/** For the main thread to come to a halt, and for the process to end. */
const REACH: Milliseconds = 1000;

/** Of the stack: enough to tell who called what. */
const FRAMES = 8;

export class BlockedLoop {
  readonly #clock: Clock;
  readonly #files = new Map<string, string>();
  #session: Session | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Holds the main thread where it is, and says where, innermost first; undefined: it is out of reach, and not held. */
  async hold(): Promise<readonly string[] | undefined> {
    const session = await connected();
    if (session === undefined) return undefined;
    this.#session = session;
    const held = await new Promise<Debugger.CallFrame[] | undefined>((resolve) => {
      const timer = this.#clock.after(REACH, () => resolve(undefined), true);
      session.on('Debugger.scriptParsed', ({ params }) => this.#files.set(params.scriptId, params.url));
      session.once('Debugger.paused', ({ params }) => {
        timer.cancel();
        resolve(params.callFrames);
      });
      session.post('Debugger.enable');
      session.post('Debugger.pause');
    });
    if (held === undefined) this.letGo();
    return held
      ?.map((frame) => this.#place(frame))
      .filter((place) => place !== undefined)
      .slice(0, FRAMES);
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

  // Undefined: a part of Node.js.
  #place({ functionName, location }: Debugger.CallFrame): string | undefined {
    const url = this.#files.get(location.scriptId) ?? '';
    if (url === '' || url.startsWith('node:')) return undefined;
    const file = url.startsWith('file:') ? fileURLToPath(url) : url;
    const at = `${file}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`;
    return functionName === '' ? at : `${functionName} (${at})`;
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
