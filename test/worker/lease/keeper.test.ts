import type { Application } from '../../../src/connections/application';
import type { Connection, RenewResult } from '../../../src/connections/contract';
import { momentOf } from '../../../src/base/clock';
import { silentLogger } from '../../../src/base/logger';
import { TestClock } from '../../../src/testing/test-clock';
import { JobCancelledError, LeaseLostError } from '../../../src/worker/errors';
import { LeaseKeeper } from '../../../src/worker/lease/keeper';
import { RunningJob } from '../../../src/worker/running-job';
import { holderOf } from './holder';

let clock: TestClock;
let answer: () => Promise<readonly RenewResult[]>;
let renewals: number;
let said: string[];
let keeper: LeaseKeeper;
let job: RunningJob;
/** The grace that the job got each time it was aborted. */
let graces: number[];

const away = (): Promise<never> => Promise.reject(new Error('away'));

beforeEach(() => {
  clock = new TestClock();
  answer = async () => ['renewed'];
  renewals = 0;
  said = [];
  graces = [];
  const connection = {
    name: 'store',
    renew: () => {
      renewals += 1;
      return answer();
    },
  } as unknown as Connection;
  const report = (error: unknown): void => void said.push((error as Error).message);
  keeper = new LeaseKeeper({ connection, lease: 30, clock, logger: silentLogger, grace: 5, report });
  job = new RunningJob(holderOf().reservation, 'store', {} as Application);
  job.onAbort = (grace) => graces.push(grace);
  keeper.keep([job], momentOf(clock));
});

afterEach(() => keeper.close());

it('a cancelled job gets the grace once and keeps its lease meanwhile', async () => {
  answer = async () => ['cancelled'];

  await clock.advance('30s');

  expect(job.abortReason).toBeInstanceOf(JobCancelledError);
  expect(graces).toEqual([5]);
  expect(renewals).toBe(3);
});

it('a job whose lease is lost is aborted but not given up, and its lease is not renewed any more', async () => {
  answer = async () => ['lost'];

  await clock.advance('60s');

  expect(job.abortReason).toBeInstanceOf(LeaseLostError);
  expect(graces).toEqual([Infinity]);
  expect(renewals).toBe(1);
});

it('a job whose lease has ended is aborted, and is kept if the store later renews the lease', async () => {
  job.handler = 'running';
  answer = away;
  await clock.advance('29s');
  expect(job.abortReason).toBeUndefined();

  await clock.advance('5s');
  expect(job.abortReason).toBeInstanceOf(LeaseLostError);
  expect(keeper.atRisk()).toBe(1);
  answer = async () => ['renewed'];
  await keeper.leftOut([]);

  expect(keeper.atRisk()).toBe(0);
  expect(said).toEqual(['away']);
});

it('the lease of a settled job is not renewed', async () => {
  keeper.drop(job);

  await clock.advance('60s');

  expect(renewals).toBe(0);
});

it('the lease of a job reserved before the machine slept is renewed once before the job starts', async () => {
  const { now } = clock;
  clock.now = () => now.call(clock) + 60_000;

  await job.lease!.confirm();

  expect(renewals).toBe(1);
  expect(job.lease!.confirm()).toBeUndefined();
  expect(job.abortReason).toBeUndefined();
});

it('a job reserved before the machine slept does not start if another worker has it by now', async () => {
  answer = async () => ['lost'];
  const { now } = clock;
  clock.now = () => now.call(clock) + 60_000;

  await job.lease!.confirm();

  expect(job.abortReason).toBeInstanceOf(LeaseLostError);
});

it('setting the wall clock forward does not end the lease of a running job', async () => {
  job.handler = 'running';
  const { now } = clock;
  clock.now = () => now.call(clock) + 3_600_000;

  await clock.advance('20s');

  expect(job.abortReason).toBeUndefined();
});
