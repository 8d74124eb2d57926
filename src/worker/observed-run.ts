/** A run, as observers see it: around its handler, and once the store has confirmed how it ended. */
import type { Milliseconds } from '../base/clock';
import type { Application } from '../connections/application';
import type { SettleResult } from '../connections/contract';
import { type EndedRun, type Observer, tellObservers } from '../connections/observer';
import { readyAtOf } from '../payload/ready-at';
import { storeNow } from './outcome';
import type { RunningJob } from './running-job';
import type { Finished } from './runs';

/** Gives what `call` gives, and throws what it throws, whatever observers make of it. */
export function callObserved(application: Application, job: RunningJob, call: () => unknown): unknown {
  let observed = call;
  for (const observer of application.observers) {
    if (observer.around === undefined) continue;
    const inner = observed;
    observed = () => callWithin(application, job, observer, inner);
  }
  return observed();
}

/** What a call has come to; a promise, where it is async. */
type Result = { readonly value: unknown } | { readonly thrown: unknown };

function callWithin(application: Application, job: RunningJob, observer: Observer, inner: () => unknown): unknown {
  let result: Result | undefined;
  // Once, however often it is called; and where it is not, all the same.
  const resultOf = (): Result => (result ??= resultOfCall(inner));
  const reportUnlessOwn = (error: unknown, own: unknown): void => {
    if (error !== own) application.report(error, { job, during: 'an observer' });
  };
  try {
    const made = observer.around?.(job, () => valueOf(resultOf()));
    const given = resultOf();
    // An async one is not waited for. What the handler throws may pass through it.
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

export function tellEnded(application: Application, { job, outcome, took }: Finished, result: SettleResult): void {
  const { settlement, error, reason } = outcome;
  const startedAt = storeNow(job, application) - (application.clock.monotonic() - job.startedAt);
  const run: EndedRun = {
    job,
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

/** Since when it is ready again, the payload of another attempt does not say. */
function waitOf(job: RunningJob, startedAt: Milliseconds): Milliseconds | undefined {
  if (job.fence !== 1 || job.envelope === undefined) return undefined;
  const readyAt = readyAtOf(job.id, job.envelope.readyAt);
  return readyAt === undefined ? undefined : Math.max(0, startedAt - readyAt);
}
