/** What operators can do, by the addresses of the actions. */
import type { QueueManager } from '../../application/queue-manager';
import type { Viewer } from '../access/access';
import type { Html } from '../html';
import { cancelBatch, retryBatch } from './batch-actions';
import { forgetFailed, retryFailed } from './failed-actions';
import { cancelJob, forgetJob, retryJob } from './job-actions';
import type { Notice } from './notice';
import { pauseQueue, resumeQueue } from './queue-actions';
import { pauseSchedule, resumeSchedule, runSchedule } from './schedule-actions';

export interface ActionContext {
  readonly manager: QueueManager;
  readonly viewer: Viewer;
}

/** Asked before something is done that cannot be undone. */
export interface Question {
  readonly title: string;
  /** What will happen, and to what. */
  readonly text: Html;
  /** The label of the button that does it: `Forget 12 jobs`. */
  readonly button: string;
}

export interface Action {
  /** Absent, or returning nothing: the action is done at once, because it can be undone or does no harm. */
  readonly ask?: (form: URLSearchParams, context: ActionContext) => Promise<Question | undefined>;
  /** Does it, and says what was done. Errors are shown. */
  readonly run: (form: URLSearchParams, context: ActionContext) => Promise<Notice>;
}

export const ACTIONS: Readonly<Record<string, Action>> = {
  'cancel-job': cancelJob,
  'retry-job': retryJob,
  'forget-job': forgetJob,
  'cancel-batch': cancelBatch,
  'retry-batch': retryBatch,
  'retry-failed': retryFailed,
  'forget-failed': forgetFailed,
  'pause-queue': pauseQueue,
  'resume-queue': resumeQueue,
  'run-schedule': runSchedule,
  'pause-schedule': pauseSchedule,
  'resume-schedule': resumeSchedule,
};
