/** Shows a run to the observers: around its handler, and once the store has confirmed its outcome. */
import type { Milliseconds } from '../base/clock';
import { tellObservers, type Application, type EndedRun, type Observer } from '../connections/application';
import type { SettleResult } from '../connections/contract';
import { readyAtOf } from '../payload/uuid';
import { storeNow } from './outcome';
import type { WorkerSettings } from './settings';
import type { RunningJob } from './running-job';
import type { Finished } from './runs';

/** Returns what `call` returns and throws what it throws, whatever the observers do. */
export function callObserved(application: Application, job: RunningJob, call: () => unknown): unknown {
  let observed = call;
  for (const observer of application.observers) {
    if (observer.around === undefined) continue;
    const inner = observed;
    observed = () => callWithin(application, job, observer, inner);
  }
  return observed();
}

/** What a call returned or threw. An async call returned its promise. */
type Result = { readonly value: unknown } | { readonly thrown: unknown };

function callWithin(application: Application, job: RunningJob, observer: Observer, inner: () => unknown): unknown {
  let result: Result | undefined;
  // The call is made exactly once, even if the observer makes it never or several times.
  const resultOf = (): Result => (result ??= resultOfCall(inner));
  const reportUnlessOwn = (error: unknown, own: unknown): void => {
    if (error !== own) application.report(error, { job, during: 'an observer' });
  };
  try {
    const made = observer.around?.(job, () => valueOf(resultOf()));
    const given = resultOf();
    // We do not wait for an async observer. The handler's error may pass through it.
    if (made instanceof Promise && !('value' in given && given.value === made))
      void made.catch(async (error: unknown) => reportUnlessOwn(error, await thrownBy(given)));
  } catch (error) {
    const given = resultOf();
    reportUnlessOwn(error, 'thrown' in given ? given.thrown : undefined);
  }
  return valueOf(resultOf());
}

function resultOfCall(call: () => unknown): Result {
  try {
    return { value: call() };
  } catch (thrown) {
    return { thrown };
  }
}

function valueOf(result: Result): unknown {
  if ('thrown' in result) throw result.thrown;
  return result.value;
}

async function thrownBy(result: Result): Promise<unknown> {
  try {
    await valueOf(result);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

export function tellEnded(
  { name, application }: Pick<WorkerSettings, 'name' | 'application'>,
  { job, outcome, took }: Finished,
  result: SettleResult,
): void {
  const { settlement, error, reason } = outcome;
  const startedAt = storeNow(job, application) - (application.clock.monotonic() - job.startedAt);
  const run: EndedRun = {
    job,
    worker: name,
    reservation: job.reservation,
    outcome: result === 'lost' ? 'lost' : settlement.outcome,
    error: error ?? reason,
    exception: settlement.outcome === 'failed' ? settlement.failure.exception : undefined,
    isAttempt: job.handler !== 'not-called',
    startedAt,
    took,
    waited: waitOf(job, startedAt),
  };
  tellObservers(application, job, (observer) => observer.ended?.(run));
}

/** The payload does not tell when a later attempt became ready. */
function waitOf(job: RunningJob, startedAt: Milliseconds): Milliseconds | undefined {
  if (job.fence !== 1 || job.envelope === undefined) return undefined;
  const readyAt = readyAtOf(job.id, job.envelope.readyAt);
  return readyAt === undefined ? undefined : Math.max(0, startedAt - readyAt);
}
