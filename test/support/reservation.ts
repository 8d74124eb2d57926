/** Reservations that no store made, for tests of a single run. */
import type { Application } from '../../src/connections/application';
import { registry } from '../../src/job/registry';
import { noCounters, withCounters, type Counters } from '../../src/payload/counters';
import { encodePayload } from '../../src/payload/payload-text';
import { RunningJob } from '../../src/worker/running-job';

export function payloadOf(job: object): Buffer {
  const definition = registry().definitionOf(job.constructor);
  if (definition === undefined) throw new Error(`${job.constructor.name} is no job`);
  return Buffer.from(encodePayload({ definition, job, chosen: {}, id: 'the-id', classes: registry() }));
}

/** In its first attempt unless `counters` say otherwise. */
export function reserved(application: Application, payload: Buffer, counters: Partial<Counters> = {}): RunningJob {
  const all = { ...noCounters, attempts: 1, ...counters };
  const reservation = { queue: 'default', payload: withCounters(payload, all), counters: all, token: undefined };
  return new RunningJob(reservation, 'memory', application);
}
