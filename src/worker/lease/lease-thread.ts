/**
 * The lease thread as its workers see it: one for all workers of the process.
 *
 * It starts with the first job, keeps no process alive, and ends with the last worker that has had a job.
 */
import { isMainThread, Worker } from 'node:worker_threads';
import { monotonicOrigin } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import { threadModule } from '../../base/thread-module';
import type { FromThread, FromWorker, ThreadData, ToThread, ToWorker } from './messages';

/** The path of the thread's program. */
export const PROGRAM = threadModule('worker/lease/thread/program');

/** Hears what the thread tells one worker: `gone` and `closed` also when it has ended. */
export type Hear = (message: ToWorker) => void;

let running: LeaseThread | undefined;

export class LeaseThread {
  readonly #thread: Worker;
  readonly #workers = new Map<number, Hear>();
  #numbers = 0;

  /** The running thread, started if there is none. @throws if it cannot be started */
  static current(): LeaseThread {
    return (running ??= new LeaseThread());
  }

  private constructor() {
    const workerData: ThreadData = {
      clockOrigin: monotonicOrigin(),
      ofMainThread: isMainThread,
      scope: require.resolve('../../container/scope'),
      // Not an import: a Node.js that was built without the inspector could not even load this file.
      isDebugged: process.features.inspector && process.getBuiltinModule('node:inspector').url() !== undefined,
    };
    this.#thread = new Worker(PROGRAM, {
      workerData,
      name: 'onqueue leases',
      // Loaders of the application, such as a compiler, would only make the thread slow and large.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#thread.unref();
    this.#thread.on('message', (message: FromThread) => {
      if (message.kind === 'ask') this.#post({ kind: 'here' });
      else this.#workers.get(message.worker)?.(message);
    });
    this.#thread.on('error', (error) => this.#end(errorMessage(error)));
    this.#thread.on('exit', (code) => this.#end(`it exited with ${code}`));
  }

  /** Returns the worker's number in the thread. */
  join(hear: Hear): number {
    this.#numbers += 1;
    this.#workers.set(this.#numbers, hear);
    return this.#numbers;
  }

  /** @throws if the message cannot be cloned or transferred */
  tell(worker: number, message: FromWorker, handedOver: readonly ArrayBuffer[] = []): void {
    this.#post({ worker, ...message }, handedOver);
  }

  /** To be called once the thread has closed the worker's store. The last worker to leave ends the thread. */
  async leave(worker: number): Promise<void> {
    if (!this.#workers.delete(worker) || this.#workers.size > 0) return;
    if (running === this) running = undefined;
    await this.#thread.terminate();
  }

  #post(message: ToThread, handedOver: readonly ArrayBuffer[] = []): void {
    this.#thread.postMessage(message, handedOver);
  }

  #end(why: string): void {
    if (running === this) running = undefined;
    const left = [...this.#workers.values()];
    this.#workers.clear();
    for (const hear of left) {
      hear({ kind: 'gone', why });
      hear({ kind: 'closed' });
    }
  }
}
