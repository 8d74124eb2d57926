/** The scene for tests of limits: jobs whose middleware the test decides, each run alone by an executor. */
import { Job } from '../../src/job/job';
import type { Middleware } from '../../src/job/middleware';
import { noCounters } from '../../src/payload/counters';
import { payloadOf, reserved } from '../support/reservation';
import { application, calls, executor } from '../worker/executor-scene';
import type { Outcome } from '../../src/worker/outcome';

export const scene: { layers: () => Middleware[]; behave: (job: object) => unknown } = {
  layers: () => [],
  behave: () => undefined,
};

@Job({ tries: 3, backoff: '1m', timeout: 0 })
export class Pay extends Job {
  middleware(): Middleware[] {
    return scene.layers();
  }
  handle(): unknown {
    calls.push('Pay');
    return scene.behave(this);
  }
}

@Job({ tries: 3 })
export class Refund extends Job {
  middleware(): Middleware[] {
    return scene.layers();
  }
  handle(): unknown {
    calls.push('Refund');
    return scene.behave(this);
  }
}

@Job({ tries: 3, timeout: '30s' })
export class Hangs extends Pay {}

/** Runs a job once. `releases`: how often it was put off before. */
export const run = (job: object = new Pay(), releases = 0): Promise<Outcome> =>
  executor.run(reserved(application.manager, payloadOf(job), { ...noCounters, attempts: 1, releases }));

/** How long it was put off, in seconds; 0 if it ran. */
export async function waitOf(job: object = new Pay(), releases = 0): Promise<number> {
  const { settlement, error } = await run(job, releases);
  if (error !== undefined) throw error;
  if (settlement.outcome === 'completed') return 0;
  if (settlement.outcome !== 'released') throw new Error(`${job.constructor.name} ended as ${settlement.outcome}`);
  // Put off at no cost: as many attempts as before it was handed out.
  expect(settlement.counters).toMatchObject({ attempts: 0, exceptions: 0, releases: releases + 1 });
  return settlement.delay;
}

/** The records of the scene's store. */
export const records = () => application.manager.driver('memory').records!;
