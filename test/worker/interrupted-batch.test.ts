import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';

import { elapse, Gate } from '../support/application';
import { type Fault, type FaultyApplication, faultyApplication } from '../faults/faulty-connection';

let application: FaultyApplication;
let ran: string[];
let isBroken: boolean;

@Job({ tries: 1 })
class Step extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
  }
}

@Job({ tries: 1 })
class Breaks extends Job {
  handle(): void {
    if (isBroken) throw new Error('it broke');
    ran.push('mended');
  }
}

const JOBS = 250;
const names = Array.from({ length: JOBS }, (_, number) => `step-${number}`);
/** Three pages in one queue, and one in another. */
const steps = (): Step[] => names.map((name, number) => (number < 240 ? new Step(name) : new Step(name).onQueue('x')));

beforeEach(() => {
  [ran, isBroken] = [[], true];
  application = faultyApplication();
});
afterEach(() => application.manager.close());

/** Works until nothing is left that could happen within `seconds`. */
async function work(seconds = 300): Promise<void> {
  const worker = new Worker({ queue: ['default', 'x'], concurrency: 20 }, application.manager);
  const ended = worker.run();
  await elapse(application.clock, seconds);
  await worker.stop();
  await ended;
}

async function theBatch() {
  return (await application.manager.batches.list())[0]!;
}

const gone: Fault = { kind: 'reject', error: new Error('no connection') };
const lost: Fault = { kind: 'lose', error: new Error('the reply was lost') };

describe('a batch in a chain', () => {
  it.each([
    ['fails', 1, gone],
    ['fails', 2, gone],
    ['fails', 4, gone],
    ['gets no answer', 1, lost],
    ['gets no answer', 2, lost],
    ['gets no answer', 4, lost],
  ])('is complete, with each job once, if a push of it %s (the %d.)', async (_what, place, fault) => {
    const { bus, faults } = application;
    await bus
      .chain([bus.batch(steps()), new Step('behind')])
      .catch(new Step('caught'))
      .dispatch();
    faults.nth('pushOnce', place, fault);
    await work();

    expect(ran.toSorted()).toEqual([...names, 'behind'].toSorted());
    expect(ran.at(-1)).toBe('behind');
    expect(await theBatch()).toMatchObject({ total: JOBS, completed: JOBS, isCancelled: false, isFinished: true });
  });

  it('is complete if it could not be sealed', async () => {
    const { bus, manager } = application;
    await bus.chain([bus.batch(steps()), new Step('behind')]).dispatch();
    jest.spyOn(manager.driver().batches!, 'seal').mockRejectedValueOnce(new Error('no connection'));
    await work();

    expect(ran.toSorted()).toEqual([...names, 'behind'].toSorted());
    expect(await theBatch()).toMatchObject({ completed: JOBS, isCancelled: false });
  });

  it('is complete, with each job once, if two workers send it at the same time', async () => {
    const { bus, faults } = application;
    const gate = new Gate();
    await bus.chain([bus.batch(steps()), new Step('behind')]).dispatch();
    faults.nth('pushOnce', 2, { kind: 'hold', until: gate.opened });
    faults.next('renew', ...Array.from({ length: 5000 }, () => gone));
    const frozen = new Worker({ queue: ['default', 'x'], maxJobs: 1 }, application.manager).run();
    await elapse(application.clock, 1);
    await work();
    gate.open();
    await elapse(application.clock, 100);
    await frozen;

    expect(ran.toSorted()).toEqual([...names, 'behind'].toSorted());
    expect(await theBatch()).toMatchObject({ total: JOBS, completed: JOBS });
  });

  it('counts jobs as skipped that come after its first failure, and does not go on after a retry of that one', async () => {
    const { bus, faults, manager } = application;
    const gate = new Gate();
    await bus
      .chain([bus.batch([new Breaks(), ...steps()]), new Step('behind')])
      .catch(new Step('caught'))
      .dispatch();
    faults.nth('pushOnce', 2, { kind: 'hold', until: gate.opened });
    const working = work();
    await elapse(application.clock, 20);
    gate.open();
    await working;

    expect(await theBatch()).toMatchObject({ total: JOBS + 1, failed: 1, isCancelled: true, isFinished: true });
    expect(ran).toContain('caught');
    isBroken = false;
    await manager.batches.retryFailed((await theBatch()).id);
    await work();
    expect(ran).toContain('mended');
    expect(ran).not.toContain('behind');
    expect(await theBatch()).toMatchObject({ total: JOBS + 1, failed: 0, isFinished: true });
  });

  it('fails and is kept with its chain if nobody remembers any more which of its jobs are in', async () => {
    const { bus, faults, manager } = application;
    await bus
      .chain([bus.batch(steps()), new Step('behind')])
      .catch(new Step('caught'))
      .dispatch();
    faults.nth('pushOnce', 3, gone);
    await new Worker({ maxJobs: 1 }, manager).run();
    await application.clock.advance('8d');
    await work();

    const [kept] = await manager.failed.list();
    expect(kept?.exception).toContain('E_BATCH_FORGOTTEN');
    expect(kept?.payload.toString()).toContain('behind');
    expect(ran).toContain('caught');
  });
});

describe('a batch whose dispatcher dies', () => {
  it.each([
    ['a list', steps],
    ['an iterator', () => steps().values()],
  ])('ends well if all of %s is in, although nobody sealed it', async (_what, source) => {
    const { bus, manager } = application;
    const seal = jest.spyOn(manager.driver().batches!, 'seal').mockRejectedValueOnce(new Error('no connection'));
    const batch = await bus.batch(source()).then(new Step('then')).catch(new Step('catch')).dispatch();
    expect(batch).toMatchObject({ total: JOBS });
    expect(seal).toHaveBeenCalledTimes(1);
    await work();

    expect(ran.toSorted()).toEqual([...names, 'then'].toSorted());
    expect(await batch.refresh()).toMatchObject({ completed: JOBS, isCancelled: false, isFinished: true });
  });

  it('is cancelled if its last page is not in', async () => {
    const { bus, faults, manager } = application;
    faults.next('pushOnce', gone);
    jest.spyOn(manager.driver().batches!, 'cancel').mockRejectedValueOnce(new Error('no connection'));
    const dispatch = bus.batch(steps()).catch(new Step('catch')).dispatch();
    await expect(dispatch).rejects.toMatchObject({ code: 'E_BATCH_INCOMPLETE' });
    await work();

    expect(await theBatch()).toMatchObject({ isCancelled: true, isFinished: true });
    expect(ran).toContain('catch');
  });
});
