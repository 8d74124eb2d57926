/** Lines that jobs log, on a memory store with a clock that the test moves. */
import { Job } from '../../src/job/job';
import type { RecordStore } from '../../src/connections/record-store';
import type { FoundJob } from '../../src/operations/found-job';
import { Worker } from '../../src/worker/worker';
import { elapse, Gate, testApplication, type TestApplication, until } from '../support/application';

let application: TestApplication;
let script: (job: Talks) => unknown;

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

@Job({ tries: 2 })
class Talks extends Job {
  handle(): unknown {
    return script(this);
  }
}

const records = (): RecordStore => application.manager.driver().records!;
const find = (id: string): Promise<FoundJob> => application.manager.connection().find(id);
const textsOf = async (id: string): Promise<string[] | undefined> => (await find(id)).lines?.map(({ text }) => text);

async function worked(run: (job: Talks) => unknown): Promise<string> {
  script = run;
  const id = await application.bus.dispatch(new Talks());
  await new Worker({ stopWhenEmpty: true }, application.manager).run();
  return id;
}

it('shows what a job has logged in all its attempts, also once it has ended', async () => {
  const id = await worked((job) => {
    job.job.log(`attempt ${job.attempts} begins`);
    job.job.log('it looks');
    if (job.attempts === 1) throw new Error('again');
  });

  expect(await textsOf(id)).toEqual(['attempt 1 begins', 'it looks', 'attempt 2 begins', 'it looks']);
  expect((await find(id)).lines?.[0]?.at).toBeInstanceOf(Date);
});

it('writes once a second while the job runs, each line once', async () => {
  const gate = new Gate();
  script = async (job) => {
    job.job.log('one');
    await gate.opened;
    job.job.log('two');
  };
  const { put } = records();
  let writes = 0;
  records().put = (page, ...rest) => {
    if (page.some(({ kind }) => kind === 'lines')) writes += 1;
    return put.call(records(), page, ...rest);
  };
  const id = await application.bus.dispatch(new Talks());
  const working = new Worker({ stopWhenEmpty: true }, application.manager).run();
  await until(application.clock, () => application.manager.observers.size > 1);
  await elapse(application.clock, 5);
  expect([writes, await textsOf(id)]).toEqual([1, ['one']]);

  gate.open();
  await working;

  expect([writes, await textsOf(id)]).toEqual([2, ['one', 'two']]);
});

it('keeps the newest 200 lines, and no more than 16 KiB', async () => {
  const many = await worked((job) => {
    for (let line = 1; line <= 300; line += 1) job.job.log(`line ${line}`);
  });
  const long = await worked((job) => {
    for (let line = 1; line <= 200; line += 1) job.job.log(`${'é'.repeat(250)} ${line}`);
  });

  const texts = await textsOf(many);
  expect([texts?.length, texts?.[0], texts?.at(-1)]).toEqual([200, 'line 101', 'line 300']);
  const record = (await records().get('lines', long))!;
  expect(Buffer.byteLength(record)).toBeLessThanOrEqual(16 * 1024);
  expect((await textsOf(long))?.at(-1)).toContain('200');
});

it('cuts long lines, keeps each on one line, and masks what looks like a secret', async () => {
  const id = await worked((job) => {
    job.job.log('x'.repeat(1000));
    job.job.log('two\nlines\u001B[31m');
    job.job.log('went to https://ada:hunter2@shop.example/');
  });

  const texts = await textsOf(id);
  expect(texts?.[0]).toHaveLength(255);
  expect(texts?.[1]).toBe('two\\nlines');
  expect(texts?.[2]).not.toContain('hunter2');
});

it('refuses what is no text', async () => {
  let thrown: unknown;
  await worked((job) => {
    try {
      job.job.log(5 as never);
    } catch (error) {
      thrown = error;
    }
  });

  expect(thrown).toMatchObject({
    code: 'E_INVALID_LOG_LINE',
    message: expect.stringContaining("log('fetched 3 pages')"),
  });
});

it('is told to observers, and a record that somebody else wrote does no harm', async () => {
  const told: string[] = [];
  application.manager.observe({ logged: (job, line) => void told.push(`${job.name}: ${line}`) });
  const id = await worked((job) => job.job.log('hello'));
  expect(told).toEqual(['Talks: hello']);

  await records().put([{ kind: 'lines', id, value: '{"lines":[5,{"at":"x","fence":1,"text":"y"}]}' }], 60);

  expect((await find(id)).lines).toBeUndefined();
});

it('with history: false nothing is kept', async () => {
  application = testApplication({ history: false });
  const id = await worked((job) => job.job.log('hello'));

  expect((await find(id)).lines).toBeUndefined();
});
