/** The public surface of the test kit. `Queue.fake()` works without importing it. */
import '../composition';
import { giveWay } from '../copies';

export { AlreadyFakedError, EndlessDrainError } from './errors';
export type { BatchedJob, PushedBatch } from './batch-log';
export type { DrainOptions, DrainReport } from './drain';
export type { FakedJobsOptions } from './fake-connection';
export type { ExpectedLink, ExpectedMember, FakeOptions, FakeQueue, PushedPredicate } from './fake-queue';
export type { JobRun } from './job-run';
export type { NextJob, Push, Pushed, Sent } from './push';
export { runJob, type RunJobOptions, type RunJobResult } from './run-job';
export type { Stub } from '../container/scope';
export { TestClock } from './test-clock';

giveWay('testing', module);
