/**
 * The main thread, seen from another thread while its event loop stands still: finds out where it stands, and ends the
 * process.
 *
 * Uses the inspector, which can interrupt a thread in the middle of its JavaScript. A thread that waits in native code, as
 * in `execSync`, is out of reach: then its place is unknown, and a signal ends the process.
 */
import type { Debugger, Session } from 'node:inspector';
import { isAbsolute, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock, type Milliseconds } from '../../../base/clock';
import { within } from '../../../connections/kit/caller';
import { BLOCKED, type BlockReport, type HeldJob } from '../../supervisor/supervision';

/** How long the main thread may take to halt, and the process to end. Three seconds were too short on a busy machine. */
const REACH: Milliseconds = 10_000;

const OURS = `${join(__dirname, '..', '..', '..')}${sep}`;

const IS_DEBUGGED = "process.getBuiltinModule('node:inspector').url() !== undefined";

/** The job whose code runs in the main thread. Nothing may be loaded there to find out. */
const callerIn = (scope: string): string => `{
  const { cache } = process.getBuiltinModule('node:module').createRequire(${JSON.stringify(scope)});
  const { name, id, queue } = cache[${JSON.stringify(scope)}]?.exports.callerOf() ?? {};
  ({ job: name, id, queue });
}`;

interface Place {
  readonly file: string;
  /** Like the column, counted from 0. */
  readonly line: number;
  readonly column: number;
}

/** Finds the sources of compiled places, as the stacks of the process show them. */
const sourcesOf = (places: readonly Place[]): string => `(${JSON.stringify(places)}).map(({ file, line, column }) => {
  const entry = process.getBuiltinModule('node:module').findSourceMap(file)?.findEntry(line, column);
  return entry?.originalSource && { file: entry.originalSource, line: entry.originalLine, column: entry.originalColumn };
})`;

/** Stack frames to show: enough to tell who called what. */
const FRAMES = 8;

export class BlockedLoop {
  readonly #files = new Map<string, string>();
  #session: Session | undefined;

  /**
   * Whether a debugger is attached, even since after the start: then the main thread may wait at a breakpoint. To be called
   * first: it also finds out whether the thread is in reach. The thread goes on meanwhile.
   */
  async isDebugged(): Promise<boolean> {
    const session = (this.#session = await connected());
    if (session === undefined) return false;
    const isDebugged = await evaluate<boolean>(session, IS_DEBUGGED);
    if (isDebugged === undefined) this.letGo();
    return isDebugged ?? false;
  }

  /**
   * Halts the main thread and returns where it stands, innermost frame first. Undefined if it is out of reach and not
   * halted.
   */
  async hold(): Promise<readonly string[] | undefined> {
    const session = this.#session;
    if (session === undefined) return undefined;
    const held = await answer<Debugger.CallFrame[]>((resolve) => {
      session.on('Debugger.scriptParsed', ({ params }) => this.#files.set(params.scriptId, params.url));
      session.once('Debugger.paused', ({ params }) => resolve(params.callFrames));
      session.post('Debugger.enable');
      session.post('Debugger.pause');
    });
    if (held === undefined) this.letGo();
    return held && this.#shown(session, held);
  }

  /** The job whose code the halted main thread runs. Undefined if that is unknown. */
  async blocker(scope: string): Promise<HeldJob | undefined> {
    const session = this.#session;
    if (session === undefined) return undefined;
    const found = await evaluate<Partial<HeldJob>>(session, callerIn(scope));
    return typeof found?.id === 'string' ? (found as HeldJob) : undefined;
  }

  /** Lets the main thread go on. */
  letGo(): void {
    this.#session?.disconnect();
    this.#session = undefined;
  }

  /**
   * Tells the supervisor and exits if the main thread is halted; otherwise a signal ends the process. No `exit` handler runs.
   */
  endProcess(report: BlockReport): void {
    const told = `try { process.send?.(${JSON.stringify(report)}); } catch {}`;
    // Node.js would print that it waits for a debugger to disconnect. There is none.
    const silently = "try { process.getBuiltinModule('node:fs').closeSync(2); } catch {}";
    this.#session?.post('Runtime.evaluate', { expression: `${told} ${silently} process.reallyExit(${BLOCKED});` });
    const kill = (): void => void process.kill(process.pid, 'SIGKILL');
    if (this.#session === undefined) kill();
    else systemClock.after(REACH, kill, true);
  }

  // Frames of Node.js and of Onqueue would tell the user nothing.
  async #shown(session: Session, frames: readonly Debugger.CallFrame[]): Promise<readonly string[]> {
    const theirs = frames
      .map(({ functionName, location }) => ({ functionName, ...this.#place(location) }))
      .filter(({ file }) => isAbsolute(file) && !file.startsWith(OURS))
      .slice(0, FRAMES);
    const sources = await evaluate<readonly (Place | null)[]>(session, sourcesOf(theirs));
    return theirs.map(({ functionName, ...place }, index) => {
      const { file, line, column } = sources?.[index] ?? place;
      const at = `${pathOf(file)}:${line + 1}:${column + 1}`;
      return functionName === '' ? at : `${functionName} (${at})`;
    });
  }

  #place({ scriptId, lineNumber, columnNumber = 0 }: Debugger.Location): Place {
    return { file: pathOf(this.#files.get(scriptId) ?? ''), line: lineNumber, column: columnNumber };
  }
}

const pathOf = (file: string): string => (file.startsWith('file:') ? fileURLToPath(file) : file);

// Undefined if no answer came.
function evaluate<T>(session: Session, expression: string): Promise<T | undefined> {
  return answer<T | undefined>((resolve) => {
    session.post('Runtime.evaluate', { expression, returnByValue: true }, (_error, reply) =>
      resolve(reply?.result?.value as T | undefined),
    );
  });
}

// Undefined if none came.
function answer<T>(ask: (resolve: (answer: T) => void) => void): Promise<T | undefined> {
  return within(systemClock, REACH, new Promise<T>(ask)).catch(() => undefined);
}

// Undefined if this Node.js was built without the inspector.
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
