/** The program of the thread that keeps the leases of all workers of a process. */
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicOrigin } from '../../../base/clock';
import { ASK, type Admission, HERE, type ThreadData } from '../messages';
import { BlockedJobs } from './blocked-jobs';
import { WorkerJobs } from './worker-jobs';

const { clockOrigin, ofMainThread, isDebugged } = workerData as ThreadData;
const shift = clockOrigin - monotonicOrigin();
const workers = new Set<WorkerJobs>();
const blocked = new BlockedJobs({ workers, ofMainThread, ask: () => parentPort!.postMessage(ASK, []) });

parentPort!.on('message', (message: Admission | typeof HERE) => {
  if (message === HERE) return blocked.answered();
  const found = (): void => {
    if (!isDebugged) blocked.watch();
  };
  const worker: WorkerJobs = new WorkerJobs({ ...message, shift, found, ended: () => void workers.delete(worker) });
  workers.add(worker);
});
