import { AssertionError } from 'node:assert';
import { failOn, skipIf, skipUnless, type Middleware } from '../../src/job/middleware';
import { Job } from '../../src/job/job';
import { payloadOf, reserved } from '../support/reservation';
import { Worker } from '../../src/worker/worker';
import { application, calls, executor, run, setTheScene } from './executor-scene';

setTheScene();

let layers: Middleware[];
let behave: () => unknown;

@Job({ tries: 5 })
class Wrapped extends Job {
  middleware(): Middleware[] {
    return layers;
  }
  handle(): unknown {
    calls.push('handle');
    return behave();
  }
}

class Refused extends Error {}
class CardRefused extends Refused {}

const throws = (error: Error) => (): never => {
  throw error;
};

beforeEach(() => (behave = () => 'value'));

describe('skipIf and skipUnless', () => {
  it.each<[string, Middleware, boolean]>([
    ['skipIf(true)', skipIf(true), false],
    ['skipIf(false)', skipIf(false), true],
    ['skipUnless(true)', skipUnless(true), true],
    ['skipUnless(false)', skipUnless(false), false],
    ['skipIf() of a function', skipIf(({ name }) => name === 'Wrapped'), false],
    ['skipUnless() of an async function', skipUnless(async ({ attempts }) => attempts === 1), true],
  ])('complete the job whether they skip it or not: %s', async (_what, layer, runs) => {
    layers = [layer];
    const job = reserved(application.manager, payloadOf(new Wrapped()));
    expect((await executor.run(job)).settlement.outcome).toBe('completed');
    expect([calls, job.value]).toEqual(runs ? [['handle'], 'value'] : [[], undefined]);
  });

  it.each([undefined, 'yes', 1])('fail the attempt and do not skip if the function returns %p', async (answer) => {
    layers = [skipIf(() => answer as never)];
    const { settlement, error } = await run(new Wrapped());
    expect(settlement.outcome).toBe('released');
    expect(error).toMatchObject({ code: 'E_INVALID_MIDDLEWARE_ARGUMENT' });
    expect(error!.message).toMatch(/^The condition of skipIf\(\): .* is not valid\. Return true or false\.$/);
  });

  it.each([
    ['nothing', undefined, 'undefined is not valid. Give true, false, or a function'],
    ['a text', 'no', "'no' is not valid."],
    ['a promise', Promise.resolve(true), 'Give the function itself: skipUnless(() => isOpen()).'],
  ])('refuse %s as a condition when they are called', (_what, condition, message) => {
    const refusal = { code: 'E_INVALID_MIDDLEWARE_ARGUMENT', message: expect.stringContaining(message) };
    expect(() => skipUnless(condition as never)).toThrow(expect.objectContaining(refusal));
  });
});

describe('failOn', () => {
  it.each<[string, Error, 'failed' | 'released']>([
    ['an instance', new Refused('no'), 'failed'],
    ['an instance of a subclass', new CardRefused('no'), 'failed'],
    ['another error', new Error('no'), 'released'],
    ['an error whose cause is an instance', new Error('no', { cause: new Refused('no') }), 'released'],
  ])('fails a job at once only if it throws an instance of a given class: %s is %s', async (_what, thrown, outcome) => {
    layers = [failOn(AssertionError, Refused)];
    behave = throws(thrown);
    expect(await run(new Wrapped())).toMatchObject({ settlement: { outcome }, error: thrown });
  });

  it('reports the error once, and outer middleware still sees it', async () => {
    const seen: unknown[] = [];
    const thrown = new Refused('no');
    application.manager.onError((error) => seen.push(['reported', error]));
    application.manager.hooks.on('exceptionOccurred', ({ exception }) => seen.push(['heard', exception]));
    const outer: Middleware = { handle: (_job, next) => next().catch((error) => seen.push(['outer', error])) };
    layers = [failOn(Refused)];
    behave = throws(thrown);
    await run(new Wrapped());
    expect(seen).toEqual([['heard', thrown]]);

    layers = [outer, failOn(Refused)];
    expect((await run(new Wrapped())).settlement.outcome).toBe('failed');
    expect(seen.slice(1)).toEqual([['outer', thrown]]);
  });

  it.each<[string, Error, 'failed' | 'released']>([
    ['it means', Object.assign(new Error('no'), { status: 404 }), 'failed'],
    ['it does not mean', Object.assign(new Error('no'), { status: 503 }), 'released'],
    ['a class beside it means', new CardRefused('no'), 'failed'],
  ])('asks a function of the error: one that %s', async (_what, thrown, outcome) => {
    layers = [failOn((error) => 'status' in error && error.status === 404, Refused)];
    behave = throws(thrown);
    expect(await run(new Wrapped())).toMatchObject({ settlement: { outcome }, error: thrown });
  });

  it('fails only the attempt if its function returns neither true nor false, and keeps the error of the job', async () => {
    const thrown = new Error('no');
    layers = [failOn((async () => true) as never)];
    behave = throws(thrown);
    const { settlement, error } = await run(new Wrapped());
    expect(settlement.outcome).toBe('released');
    expect(error).toMatchObject({ code: 'E_INVALID_MIDDLEWARE_ARGUMENT', cause: thrown });
    expect(error!.message).toMatch(/^The function of failOn\(\): Promise .* is not valid\. Return true or false\.$/);
  });

  it('ignores errors that a job throws after it was aborted', async () => {
    layers = [failOn(Error)];
    const job = reserved(application.manager, payloadOf(new Wrapped()));
    const stopping = new Error('the worker stops');
    behave = () => {
      job.abort(stopping, 5);
      throw new Error('aborted');
    };
    expect(await executor.run(job)).toMatchObject({ settlement: { outcome: 'released' }, reason: stopping });
  });

  it.each([
    ['nothing', []],
    ['an error in place of its class', [new Refused('no')]],
    ['a list', [[Refused]]],
    ['a class that is not an error class', [Map]],
  ])('refuses %s when it is called', (_what, given) => {
    expect(() => failOn(...(given as []))).toThrow(
      expect.objectContaining({
        code: 'E_INVALID_MIDDLEWARE_ARGUMENT',
        message: expect.stringMatching(
          /^failOn\(\): .* is not valid\. Give error classes, or functions of the error, as separate/s,
        ),
      }),
    );
  });
});

it('the log tells a job that its middleware has skipped from one that ran', async () => {
  layers = [skipIf(({ id }) => id === skipped)];
  await application.bus.dispatch(new Wrapped());
  const skipped = await application.bus.dispatch(new Wrapped());

  await new Worker({ stopWhenEmpty: true }, application.manager).run();

  expect(application.log.messages('info').filter((line) => line.startsWith('Wrapped'))).toEqual([
    'Wrapped completed',
    'Wrapped completed without handle(): its middleware or a hook ended it before',
  ]);
});
