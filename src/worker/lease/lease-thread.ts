/**
 * The thread that keeps leases, as its workers see it: one for all workers of the process.
 *
 * It starts with the first job, keeps no process alive, and ends with the last worker that has had a job.
 */
import { isMainThread, type MessagePort, Worker } from 'node:worker_threads';
import { monotonicOrigin } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import { threadModule } from '../../base/thread-module';
import { type Admission, HERE, type ThreadData, type WorkerData } from './messages';

/** The path of the thread's program. */
export const PROGRAM = threadModule('worker/lease/thread/program');

/** Called when the thread has ended, with the reason. */
type Gone = (why: string) => void;

let running: LeaseThread | undefined;

export class LeaseThread {
  readonly #thread: Worker;
  readonly #workers = new Set<Gone>();

  /** The one that runs; where none does, it is started. @throws where it cannot be */
  static current(): LeaseThread {
    return (running ??= new LeaseThread());
  }

  private constructor() {
    const workerData: ThreadData = {
      clockOrigin: monotonicOrigin(),
      ofMainThread: isMainThread,
      isDebugged: isDebugged(),
    };
    const thread = new Worker(PROGRAM, {
      workerData,
      name: 'onqueue leases',
      // What the application is loaded with, such as a compiler, would only make the thread slow and large.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    thread.unref();
    // It asks whether the event loop moves.
    thread.on('message', () => thread.postMessage(HERE, []));
    thread.on('error', (error) => this.#end(errorMessage(error)));
    thread.on('exit', (code) => this.#end(`it exited with ${code}`));
    this.#thread = thread;
  }

  admit(worker: WorkerData, port: MessagePort, gone: Gone): void {
    this.#workers.add(gone);
    const admission: Admission = { worker, port };
    this.#thread.postMessage(admission, [port]);
  }

  /** To be called once the thread has closed what it has opened for the worker. The last one ends it. */
  async leave(gone: Gone): Promise<void> {
    if (!this.#workers.delete(gone) || this.#workers.size > 0) return;
    if (running === this) running = undefined;
    await this.#thread.terminate();
  }

  #end(why: string): void {
    if (running === this) running = undefined;
    const left = [...this.#workers];
    this.#workers.clear();
    for (const gone of left) gone(why);
  }
}

// Not by an import: a Node.js that was built without it would not even load this file.
function isDebugged(): boolean {
  return process.features.inspector && process.getBuiltinModule('node:inspector').url() !== undefined;
}
