/** Finds queue settings that lose jobs or take them from their workers, for `onqueue check`. */
import type { JobRegistry } from '../../job/registry';
import type { Diagnosis } from '../contract';
import { sqsQueueMissing } from './errors';
import type { SqsQueue } from './queue';
import { declaredOptions, DEFAULT_MAX_CRASHES } from '../../job/resolve-options';

type Settings = Awaited<ReturnType<SqsQueue['attributes']>>;

/** SQS's own default, in seconds. */
const USUAL_RETENTION = 345_600;

const DAY = 86_400;

export interface Expected {
  /** The largest message that is sent, in bytes. */
  readonly room: number;
  readonly registry: JobRegistry | undefined;
}

export async function diagnoseSqs(queues: readonly SqsQueue[], expected: Expected): Promise<readonly Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const queue of queues) {
    const lines = await linesOf(queue, expected);
    for (const line of lines) if (line !== undefined) found.push({ ...line, subject: queue.name });
  }
  return found;
}

async function linesOf(queue: SqsQueue, expected: Expected): Promise<readonly (Line | undefined)[]> {
  try {
    const settings = await queue.attributes('its settings were not read');
    const { room } = expected;
    return [about(settings), retention(settings), size(settings, room), deadLetters(settings, queue.isFifo, expected)];
  } catch (error) {
    if (!sqsQueueMissing.is(error)) throw error;
    return [{ level: 'error', message: error.message }];
  }
}

type Line = Omit<Diagnosis, 'subject'>;

function about(settings: Settings): Line {
  const [ready, delayed, reserved] = [
    settings.ApproximateNumberOfMessages,
    settings.ApproximateNumberOfMessagesDelayed,
    settings.ApproximateNumberOfMessagesNotVisible,
  ].map((count) => count ?? '0');
  const kind = settings.FifoQueue === 'true' ? 'FIFO' : 'standard';
  return { level: 'ok', message: `${kind}; about ${ready} ready, ${delayed} delayed, ${reserved} reserved` };
}

function retention({ MessageRetentionPeriod }: Settings): Line | undefined {
  const seconds = Number(MessageRetentionPeriod ?? USUAL_RETENTION);
  if (seconds >= USUAL_RETENTION) return undefined;
  const span = seconds >= DAY ? plural(Math.round(seconds / DAY), 'day') : plural(Math.round(seconds / 60), 'minute');
  return {
    level: 'warning',
    message: `MessageRetentionPeriod: SQS throws away what has waited for ${span}. Raise it, up to 1209600 (14 days).`,
    endangersJobs: true,
  };
}

function size({ MaximumMessageSize }: Settings, room: number): Line | undefined {
  const taken = Number(MaximumMessageSize ?? room);
  if (taken >= room) return undefined;
  return {
    level: 'warning',
    message: `MaximumMessageSize: the queue takes ${taken} bytes, and up to ${room} are sent. Raise it, or set maxPayload.`,
  };
}

// A job that SQS moves away by itself never fails here: no `failed()`, no entry among the failed jobs.
function deadLetters({ RedrivePolicy }: Settings, isFifo: boolean, { registry }: Expected): Line | undefined {
  if (RedrivePolicy === undefined) return undefined;
  const most = Number((JSON.parse(RedrivePolicy) as { maxReceiveCount?: unknown }).maxReceiveCount);
  const options = registry?.all().map(declaredOptions) ?? [];
  const needed = isFifo
    ? Math.max(1, ...options.map(({ tries }) => tries))
    : Math.max(DEFAULT_MAX_CRASHES, ...options.map(({ maxCrashes }) => maxCrashes)) + 1;
  if (most >= needed) return { level: 'ok', message: `dead letters after ${most} deliveries` };
  const reason = isFifo ? `jobs here have up to ${needed} tries` : `a job fails as poison at its delivery ${needed}`;
  return {
    level: 'warning',
    message:
      `RedrivePolicy: SQS moves a job to the dead letters after ${most} deliveries, and ${reason}: it would be neither run ` +
      `nor failed here. Set maxReceiveCount to ${needed} or more.`,
    endangersJobs: true,
  };
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
