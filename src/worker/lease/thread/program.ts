/** The program of the thread that keeps the leases of all workers of a process. */
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicOrigin } from '../../../base/clock';
import type { FromThread, ThreadData, ToThread, ToWorker } from '../link';
import { BlockedJobs } from './blocked';
import { HeldJobs } from './held-jobs';

const { clockOrigin, ofMainThread, scope, isDebugged } = workerData as ThreadData;
/** Offset from the workers' clock to this thread's. */
const shift = clockOrigin - monotonicOrigin();
const workers = new Map<number, HeldJobs>();
const tell = (message: FromThread): void => parentPort!.postMessage(message, []);
const blocked = new BlockedJobs({ workers, ofMainThread, scope, ask: () => tell({ kind: 'ask' }) });

parentPort!.on('message', (message: ToThread) => {
  if (message.kind === 'here') return blocked.answered();
  const { worker } = message;
  if (message.kind !== 'join') return workers.get(worker)?.hear(message);
  const { origin } = message.data;
  const jobs = new HeldJobs({
    ...message.data,
    origin: { monotonic: origin.monotonic + shift, wall: origin.wall },
    tell: (news: ToWorker) => tell({ worker, ...news }),
    found: () => {
      if (!isDebugged) blocked.watch();
    },
    ended: () => void workers.delete(worker),
  });
  workers.set(worker, jobs);
});
