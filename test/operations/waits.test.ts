import { Job } from '../../src/job/job';
import { systemClock } from '../../src/base/clock';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;

@Job({ queue: 'mail' })
class Waited extends Job {
  handle(): void {
    if (this.attempts === 1 && this.job.payload['again'] !== undefined) this.release();
  }
}

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

async function waitOf(): Promise<{ count: number; mean: number } | undefined> {
  await new Worker({ queue: 'mail', stopWhenEmpty: true }, application.manager).run();
  const { jobs } = await application.manager.connection().figures();
  return jobs[0]?.wait;
}

describe('the waiting time of a job', () => {
  it('is the time from its dispatch to its start', async () => {
    await application.bus.dispatch(new Waited());
    await application.clock.advance('90s');
    const wait = await waitOf();
    expect(wait!.count).toBe(1);
    expect(wait!.mean).toBeGreaterThan(89);
    expect(wait!.mean).toBeLessThan(92);
  });

  it('leaves out the delay of its dispatch', async () => {
    await application.bus.dispatch(new Waited()).delay('1h');
    await application.clock.advance('3605s');
    const wait = await waitOf();
    expect(wait!.mean).toBeGreaterThan(3);
    expect(wait!.mean).toBeLessThan(10);
  });

  it('is counted only for its first attempt', async () => {
    application.manager.createPayloadUsing(() => ({ again: true }));
    await application.bus.dispatch(new Waited());
    expect(await waitOf()).toMatchObject({ count: 1 });
  });

  it('is unknown for a job that follows another', async () => {
    await application.bus.chain([new Waited(), new Waited()]).dispatch();
    await application.clock.advance('5s');
    expect(await waitOf()).toMatchObject({ count: 1 });
  });

  it('is never negative, whatever the clock of the dispatcher', async () => {
    await application.bus.dispatch(new Waited());
    const now = systemClock.now() - 3_600_000;
    jest.spyOn(application.clock, 'now').mockImplementation(() => now);
    expect(await waitOf()).toMatchObject({ mean: 0 });
  });
});
