import { Job } from '../../src/job/job';
import type { ErrorContext } from '../../src/connections/application';
import { Worker } from '../../src/worker/worker';
import { until } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';

setTheScene();

let reports: { readonly error: unknown; readonly context: ErrorContext }[];

@Job({ timeout: '20s' })
class Refused extends Job {
  handle(): void {
    throw new Error('no');
  }
  async failed(): Promise<void> {
    ran.push('failed');
    await gate.opened;
    throw new Error('too late');
  }
}

@Job()
class Unforgiving extends Job {
  handle(): void {
    throw new Error('no');
  }
}

@Job({ timeout: 0 })
class Unlimited extends Job {
  handle(): void {
    ran.push('unlimited');
  }
}

beforeEach(() => {
  reports = [];
  application.manager.onError((error, context) => reports.push({ error, context }));
});

const dispatch = (...jobs: readonly object[]): Promise<string[]> => application.bus.bulk(jobs);
const work = (): Promise<unknown> => new Worker({ stopWhenEmpty: true }, application.manager).run();

it('a failed() that never returns keeps its slot for the timeout of the job and is reported', async () => {
  // The call that writes the outcome reserves one more job. The last job has to wait for the slot.
  const [id] = await dispatch(new Refused(), new Note('beside'), new Note('last'));
  const ended = work();
  await until(application.clock, () => ran.length === 2);

  await application.clock.advance('19s');
  expect(ran.toSorted()).toEqual(['beside', 'failed']);
  await application.clock.advance('2s');

  await ended;
  expect(ran).toContain('last');
  expect(reports).toEqual([
    {
      error: expect.objectContaining({ code: 'E_CALLBACK_TIMED_OUT' }) as Error,
      context: expect.objectContaining({ during: 'failed()' }) as object,
    },
  ]);
  expect(reports[0]!.error).toMatchObject({ facts: { job: 'Refused', id, callback: 'failed()', limit: 20 } });
});

it('an error that failed() throws after its timeout is reported too', async () => {
  await dispatch(new Refused());
  const ended = work();
  await until(application.clock, () => ran.includes('failed'));
  await application.clock.advance('21s');
  await ended;

  gate.open();
  await until(application.clock, () => reports.length === 2);

  expect(reports[1]!.error).toMatchObject({ message: 'too late' });
});

it.each(['before', 'exceptionOccurred', 'failing', 'after'] as const)(
  'a hook %s that never returns is given up after the timeout of the job',
  async (hook) => {
    application.manager.hooks.on(hook, () => {
      ran.push(hook);
      return gate.opened;
    });
    const [id] = await dispatch(hook === 'before' || hook === 'after' ? new Note('a') : new Unforgiving());
    const ended = work();
    await until(application.clock, () => ran.includes(hook));

    await application.clock.advance('61s');

    expect(await ended).toBe('empty');
    expect(reports.map(({ error }) => (error as Error).message)).toEqual([
      expect.stringMatching(`${id}: the hook ${hook} has not returned within 60 s`),
    ]);
  },
);

it('a hook that returns in time leaves no deadline behind', async () => {
  application.manager.hooks.on('after', () => Promise.resolve());
  await dispatch(new Note('a'));
  const worker = new Worker({}, application.manager);
  const ended = worker.run();
  await until(application.clock, () => worker.health().outcomes.completed === 1);

  await application.clock.advance('120s');

  expect(reports).toEqual([]);
  await worker.stop();
  await ended;
});

it('a hook of a job without a timeout may take as long as it likes', async () => {
  let isOver = false;
  application.manager.hooks.on('after', () => gate.opened);
  await dispatch(new Unlimited());
  const ended = work().then(() => (isOver = true));
  await until(application.clock, () => ran.length === 1);

  await application.clock.advance('1h');
  expect(isOver).toBe(false);

  gate.open();
  await ended;
  expect(reports).toEqual([]);
});

it('the failing hook gets the id under which an unreadable payload is kept as a failed job', async () => {
  const ids: string[] = [];
  application.manager.hooks.on('failing', ({ job }) => ids.push(job.id));
  await application.manager.connection().pushRaw('{"job":5}');

  await work();

  expect(ids).toEqual((await application.manager.failed.list()).map(({ id }) => id));
  expect(ids).toHaveLength(1);
});
