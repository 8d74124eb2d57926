/** What the reasons for a worker's end are called in the log. */
import type { StopReason } from '../worker/stopping';

export const STOP_REASONS: Readonly<Record<StopReason | 'recycle', string>> = {
  stopped: 'it was told to',
  empty: 'its queues are empty',
  once: 'its one job is done',
  'max-jobs': '--max-jobs is reached',
  'max-time': '--max-time is over',
  memory: 'the process uses more than --memory',
  restart: 'all workers were told to start anew',
  stuck: 'each of its slots was held by a job that had been given up',
  uncaught: 'it has met an error that nobody caught',
  recycle: 'it has worked for as long as --recycle says',
};
