import { runInThisContext } from 'node:vm';
import { Job, Queue, dispatch, type FakeQueue } from 'onqueue';
import { runJob } from 'onqueue/testing';
import { declaredIn } from '../../src/base/class';
import { registry } from '../../src/job/registry';

const reports = () => again(() => require('./evaluated/report') as typeof import('./evaluated/report'));
const welcomes = () => again(() => require('./evaluated/welcome') as typeof import('./evaluated/welcome'));
const handlers = () =>
  again(() => require('./evaluated/welcome-handler') as typeof import('./evaluated/welcome-handler'));

function again<Module>(load: () => Module): Module {
  jest.resetModules();
  return load();
}

/** Like a framework's output, where stack traces name no real file. */
function declareFromNowhere(code: string): unknown {
  const call = runInThisContext(`(Job) => eval(${JSON.stringify(code)})`, { filename: 'virtual:chunk' });
  return (call as (decorator: typeof Job) => unknown)(Job);
}

describe('a job whose module is evaluated twice', () => {
  let fake: FakeQueue;
  beforeEach(() => (fake = Queue.fake()));
  afterEach(() => fake.restore());

  it('uses the newest class, and runs instances of both as that class', async () => {
    const before = reports();
    const after = reports();

    await before.Report.dispatch(1);
    await after.Report.dispatch(2);
    await dispatch(new before.Report(3)).through(new before.Loud());
    const report = await fake.drain();

    expect(after.Report).not.toBe(before.Report);
    expect(report.completed).toHaveLength(3);
    expect(before.seen).toEqual([]);
    expect(after.seen).toEqual([[1, 1], [2, 1], 'loud', [3, 1]]);
    fake.assertPushedTimes(before.Report, 3);
    fake.assertPushedTimes(after.Report, 3);
    expect(registry().find('evaluated.report')?.target).toBe(after.Report);
    expect(
      registry()
        .all()
        .filter(({ name }) => name === 'evaluated.report'),
    ).toHaveLength(1);
  });

  it('can be run by runJob(), whichever evaluation the instance comes from', async () => {
    const before = reports();
    reports();

    expect((await runJob(new before.Report(1))).outcome).toBe('completed');
  });

  it('keeps its handler, and uses the new one if the handler is evaluated again', async () => {
    const first = handlers();
    const { Welcome } = welcomes();
    await dispatch(new Welcome('ada'));
    await fake.drain();
    const second = handlers();
    await dispatch(new Welcome('bob'));
    await fake.drain();

    expect([first.greeted, second.greeted]).toEqual([['ada'], ['bob']]);
  });

  it('keeps the first class and its handler while the configuration file is loaded', async () => {
    const { Report, seen } = reports();
    const first = handlers();
    const [again, second] = registry().keepingFirst(() => [reports(), handlers()] as const);

    await again.Report.dispatch(1);
    await dispatch(new (welcomes().Welcome)('ada'));
    await fake.drain();

    expect(registry().find('evaluated.report')?.target).toBe(Report);
    expect([seen, again.seen]).toEqual([[[1, 1]], []]);
    expect([first.greeted, second.greeted]).toEqual([['ada'], []]);
    expect(() => fake.manager.configure({ jobs: [again.Report, second.WelcomeHandler] })).not.toThrow();
  });

  it('can be listed in the configuration, as can its handler, from any evaluation', () => {
    const { Welcome } = welcomes();
    const { WelcomeHandler } = handlers();
    handlers();

    expect(() => fake.manager.configure({ jobs: [Welcome, WelcomeHandler] })).not.toThrow();
  });

  it('is still refused from another file, and the error names both files', () => {
    welcomes();

    expect(() =>
      again(() => require('./evaluated/other/welcome') as typeof import('./evaluated/other/welcome')),
    ).toThrow(
      "Two classes claim the name 'evaluated.welcome': Welcome (test/job/evaluated/welcome.ts) and " +
        'Welcome (test/job/evaluated/other/welcome.ts)',
    );
  });

  it('may have minified class names that differ between the chunks of a build', () => {
    const declared = [
      ['s', 'a'],
      ['Sent', 'Asked'],
    ].map(([one, other]) => () => {
      for (const name of [one, other])
        declareFromNowhere(`Job({ name: 'evaluated.minified.${one}' })(class ${name} extends Job {})`);
    });

    expect(declared[0]).not.toThrow();
    expect(declared[1]).toThrow("Two classes claim the name 'evaluated.minified.Sent': Sent and Asked.");
  });

  it('loses aliases that its new declaration no longer has', () => {
    const declare = (aliases: string[]) => Job({ name: 'evaluated.named', aliases })(class Named extends Job {});
    declare(['evaluated.old']);
    const after = declare([]);

    expect(registry().find('evaluated.named')?.target).toBe(after);
    expect(registry().find('evaluated.old')).toBeUndefined();
  });
});

describe('the file of a class that a bundler or development server evaluates', () => {
  const probe = (): string | undefined => declaredIn(probe);
  const evaluated = (code: string): unknown =>
    (runInThisContext(`(probe) => eval(${JSON.stringify(code)})`) as (call: typeof probe) => unknown)(probe);
  const evaluatedAs = (name: string): unknown => evaluated(`probe()\n//# sourceURL=${name}`);

  it.each([
    __filename,
    `${__filename}?t=1763805600000`,
    `${__filename}?namespace=2#hash`,
    `file://${__filename}?v=2`,
    `/@fs${__filename}?v=2`,
    'webpack-internal:///(rsc)/./test/job/evaluated-again.test.ts',
    'webpack-internal:///(action-browser)/./test/job/evaluated-again.test.ts',
    'webpack-internal:///./test/job/evaluated-again.test.ts',
    'turbopack:///[project]/test/job/evaluated-again.test.ts',
  ])('is the source file: %s', (name) => {
    expect(evaluatedAs(name)).toBe(__filename);
  });

  it.each([
    'virtual:jobs',
    '\0virtual:jobs',
    '/@id/__x00__virtual:jobs',
    'webpack-internal:///(rsc)/./gone.ts',
    `file://${process.cwd()}/.next/server/app/api/a/route.js`,
    `file://${process.cwd()}/.output/server/chunks/jobs.mjs`,
  ])('is unknown if the name leads to no file: %s', (name) => {
    expect(evaluatedAs(name)).toBeUndefined();
  });

  it('is unknown for a module evaluated without a name', () => {
    expect(evaluated('probe()')).toBeUndefined();
  });
});
