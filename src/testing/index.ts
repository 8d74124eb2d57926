/** The public surface of the test kit. `Queue.fake()` works without importing it. */
import '../composition';
import { giveWay } from '../copies';

export { AlreadyFakedError } from './fake-queue';
export { EndlessDrainError } from './drain';
export type { BatchedJob, PushedBatch } from './pushes';
export type { DrainOptions, DrainReport } from './drain';
export type { FakedJobsOptions } from './fake-manager';
export type { ExpectedLink, ExpectedMember, FakeOptions, FakeQueue, PushedPredicate } from './fake-queue';
export type { JobRun } from './drain';
export type { NextJob, Push, Pushed, Sent } from './pushes';
export { runJob, type RunJobOptions, type RunJobResult } from './run-job';
export type { Stub } from '../container/stubs';
export { TestClock } from './test-clock';

giveWay('testing', module);
