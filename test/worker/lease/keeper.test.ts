import type { Connection, RenewResult } from '../../../src/connections/contract';
import { momentOf } from '../../../src/base/clock';
import { silentLogger } from '../../../src/base/console-logger';
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
/** What the job was given to come back, each time that it was aborted. */
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
    capabilities: { renew: true },
    renew: () => {
      renewals += 1;
      return answer();
    },
  } as unknown as Connection;
  const report = (error: unknown): void => void said.push((error as Error).message);
  keeper = new LeaseKeeper({ connection, lease: 30, clock, logger: silentLogger, grace: 5, report });
  job = new RunningJob(holderOf().reservation, 'store');
  job.onAbort = (grace) => graces.push(grace);
  keeper.keep([job], momentOf(clock));
});

afterEach(() => keeper.close());

it('a cancelled job has the grace to come back, once, and keeps its lease meanwhile', async () => {
  answer = async () => ['cancelled'];

  await clock.advance('30s');

  expect(job.abortReason).toBeInstanceOf(JobCancelledError);
  expect(graces).toEqual([5]);
  expect(renewals).toBe(3);
});

it('a job whose lease is lost is waited for, and its lease is renewed no more', async () => {
  answer = async () => ['lost'];

  await clock.advance('60s');

  expect(job.abortReason).toBeInstanceOf(LeaseLostError);
  expect(graces).toEqual([Infinity]);
  expect(renewals).toBe(1);
});

it('a job whose lease has ended is told, and stays ours if the store says so afterwards', async () => {
  job.handler = 'running';
  answer = away;
  await clock.advance('29s');
  expect(job.abortReason).toBeUndefined();

  await clock.advance('5s');
  expect(job.abortReason).toBeInstanceOf(LeaseLostError);
  expect(keeper.atRisk).toBe(1);
  answer = async () => ['renewed'];
  await Promise.all(keeper.renewEnded()!.values());

  expect(keeper.atRisk).toBe(0);
  expect(said).toEqual(['away']);
});

it('a settled job needs no lease', async () => {
  keeper.drop(job);

  await clock.advance('60s');

  expect(renewals).toBe(0);
});

it('a job that was reserved before the machine slept is renewed before it starts, and once', async () => {
  const { now } = clock;
  clock.now = () => now.call(clock) + 60_000;

  await job.lease!.confirm();

  expect(renewals).toBe(1);
  expect(job.lease!.confirm()).toBeUndefined();
  expect(job.abortReason).toBeUndefined();
});

it('one that somebody else has since then does not start', async () => {
  answer = async () => ['lost'];
  const { now } = clock;
  clock.now = () => now.call(clock) + 60_000;

  await job.lease!.confirm();

  expect(job.abortReason).toBeInstanceOf(LeaseLostError);
});

it('a wall clock that is set forward ends no lease of a job that runs', async () => {
  job.handler = 'running';
  const { now } = clock;
  clock.now = () => now.call(clock) + 3_600_000;

  await clock.advance('20s');

  expect(job.abortReason).toBeUndefined();
});
