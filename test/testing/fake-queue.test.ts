import { AssertionError } from 'node:assert';
import { dispatch, Job, Queue } from 'onqueue';
import { type FakeQueue, TestClock } from 'onqueue/testing';
import { MakeInvoice, MakeReport, seen, SendReport, SendWelcome, SyncNotes } from './jobs';

let queue: FakeQueue;

beforeEach(() => {
  queue = Queue.fake();
});

afterEach(() => queue.restore());

/** The error that a failed assertion throws. */
function failure(assert: () => void): Error {
  try {
    assert();
  } catch (error) {
    if (error instanceof AssertionError) return error;
  }
  throw new Error('No assertion failed.');
}

const complaint = (assert: () => void): string => failure(assert).message;

describe('a fake', () => {
  it('asserts which jobs were pushed', async () => {
    await SendWelcome.dispatch('ada@example.org');

    queue.assertPushed(SendWelcome);
    expect(complaint(() => queue.assertPushed(MakeReport))).toMatch(/^MakeReport was not pushed\. /);
  });

  it('finds dispatches that were not awaited', () => {
    void SendWelcome.dispatch('ada@example.org');
    queue.assertPushed(SendWelcome);

    void MakeReport.dispatch();
    queue.assertCount(2);

    void dispatch(new SendReport('sales'));
    expect(queue.pushed(SendReport)).toHaveLength(1);
  });

  it('does not find a unique job that was refused because an earlier one has not run', async () => {
    void MakeInvoice.dispatch(1);
    void MakeInvoice.dispatch(1);
    void MakeInvoice.dispatch(2);
    queue.assertPushedTimes(MakeInvoice, 2);

    await queue.drain();
    expect((await MakeInvoice.dispatch(1).result).status).toBe('queued');
    queue.assertPushed(MakeInvoice, 3);
  });

  it('tells which dispatches were skipped: duplicates, and debounced jobs that were replaced', async () => {
    void MakeInvoice.dispatch(1);
    expect(complaint(() => queue.assertSkipped(MakeInvoice))).toMatch(
      /^No dispatch of MakeInvoice was skipped\. What was/,
    );
    void MakeInvoice.dispatch(1);
    queue.assertSkipped(MakeInvoice);
    queue.assertSkipped(MakeInvoice, (_, { queue: name }) => name === 'default');
    expect(complaint(() => queue.assertSkipped(MakeInvoice, () => false))).toMatch(/none that the predicate accepts/);

    for (const note of ['first', 'last']) void SyncNotes.dispatch(note);
    queue.assertSkipped(SyncNotes, (job) => job.note === 'first');
    expect(complaint(() => queue.assertSkipped(SyncNotes, (job) => job.note === 'last'))).toBeDefined();
    expect(() => queue.assertSkipped(class {})).toThrow(/not a job/);
  });

  it('finds each debounced job that was pushed, and runs only the last one', async () => {
    seen.length = 0;
    for (const note of ['first', 'last']) void SyncNotes.dispatch(note);
    queue.assertPushed(SyncNotes, 2);

    expect((await queue.drain()).completed).toEqual([]);
    await queue.drain({ delayed: true });
    expect(seen).toEqual(['synced last']);
  });

  it('does not find a duplicate that a transaction would have sent', async () => {
    const { id } = await MakeInvoice.dispatch(1).result;
    await Queue.transaction(async () => void (await MakeInvoice.dispatch(1).afterCommit()));

    queue.assertCount(1);
    expect(await MakeInvoice.dispatch(1).result).toEqual({ status: 'duplicate', id });
  });

  it('finds what follows a transaction once it commits', async () => {
    await Queue.transaction(async () => {
      await SendWelcome.dispatch('ada@example.org').onQueue('mail').afterCommit();
      queue.assertNothingPushed();
    });

    expect(queue.pushed(SendWelcome)).toMatchObject([{ queue: 'mail', delay: 0 }]);
  });

  it('never finds what should have followed a transaction that was rolled back', async () => {
    const transaction = Queue.transaction(async () => {
      await SendWelcome.dispatch('ada@example.org').afterCommit();
      void MakeReport.dispatch().afterCommit();
      throw new Error('rolled back');
    });

    await expect(transaction).rejects.toThrow('rolled back');
    expect(queue.pushes).toEqual([]);
  });

  it('passes a predicate the job as a worker would get it', async () => {
    await SendWelcome.dispatch('ada@example.org', new Date(1000));

    queue.assertPushed(SendWelcome, (job) => job.email === 'ada@example.org' && job.since.getTime() === 1000);
    expect(complaint(() => queue.assertPushed(SendWelcome, (job) => job.email === 'bob@example.org'))).toMatch(
      /^SendWelcome was not pushed, or none that the predicate accepts\. /,
    );
  });

  it('passes a predicate the route as well', async () => {
    await SendWelcome.dispatch('ada@example.org').onQueue('urgent').delay('10m');

    const asked = jest.fn(() => true);
    queue.assertPushed(SendWelcome, asked);
    expect(asked).toHaveBeenCalledWith(
      expect.any(SendWelcome),
      expect.objectContaining({ queue: 'urgent', delay: 600 }),
    );
  });

  it('asserts how often jobs of a class were pushed', async () => {
    await SendWelcome.dispatch('ada@example.org');
    await SendWelcome.dispatch('bob@example.org');

    queue.assertPushed(SendWelcome, 2);
    queue.assertPushedTimes(SendWelcome, 2);
    queue.assertPushedTimes(MakeReport, 0);
    expect(complaint(() => queue.assertPushed(SendWelcome, 1))).toMatch(/^SendWelcome was pushed 2 times, not 1\. /);
    expect(complaint(() => queue.assertPushedTimes(SendWelcome, 3))).toMatch(
      /^SendWelcome was pushed 2 times, not 3\. /,
    );
  });

  it('asserts the queue of each job', async () => {
    await SendWelcome.dispatch('ada@example.org').onQueue('urgent');

    queue.assertPushedOn('urgent', SendWelcome);
    queue.assertPushedOn('urgent', SendWelcome, (job) => job.email.startsWith('ada'));
    expect(complaint(() => queue.assertPushedOn('mail', SendWelcome))).toMatch(
      /^SendWelcome was not pushed on the queue 'mail'\. /,
    );
    expect(complaint(() => queue.assertPushedOn('urgent', SendWelcome, () => false))).toMatch(/was not pushed on/);
  });

  it('asserts which jobs were not pushed', async () => {
    queue.assertNotPushed(SendWelcome);
    await SendWelcome.dispatch('ada@example.org');

    queue.assertNotPushed(SendWelcome, (job) => job.email === 'bob@example.org');
    expect(complaint(() => queue.assertNotPushed(SendWelcome))).toMatch(/^SendWelcome was pushed once, and should not/);
    expect(complaint(() => queue.assertNotPushed(SendWelcome, () => true))).toMatch(/^SendWelcome was pushed once/);
  });

  it('asserts whether anything was pushed, and how much', async () => {
    queue.assertNothingPushed();
    queue.assertCount(0);
    await Queue.push('Reports@daily', { day: 1 });

    queue.assertCount(1);
    expect(complaint(() => queue.assertNothingPushed())).toMatch(/^Something was pushed, and nothing should be\. /);
    expect(complaint(() => queue.assertCount(2))).toMatch(/^The number of pushed jobs is 1, not 2\. /);
  });

  it('distinguishes a class from its parent', async () => {
    @Job()
    class Weekly extends MakeReport {}
    await Weekly.dispatch();

    expect(queue.pushed(Weekly)).toHaveLength(1);
    expect(queue.pushed(MakeReport)).toEqual([]);
  });

  it('refuses a class that is not a job, which it would never find', () => {
    class Forgotten extends Job {}

    expect(() => queue.assertNotPushed(Forgotten)).toThrow(
      expect.objectContaining({ code: 'E_UNDECORATED_JOB', facts: expect.objectContaining({ job: 'Forgotten' }) }),
    );
  });

  it('asks for the class if it is given an instance', () => {
    expect(() => queue.assertPushed(new SendWelcome('ada@example.org') as never)).toThrow(/Give the class/);
  });

  it('returns the jobs with their routes', async () => {
    const id = await SendWelcome.dispatch('ada@example.org').delay('1m');

    const [pushed, ...others] = queue.pushed(SendWelcome);

    expect(others).toEqual([]);
    expect(pushed).toMatchObject({ id, name: 'SendWelcome', queue: 'mail', delay: 60, payload: { id, attempts: 0 } });
    expect(pushed?.job).toBeInstanceOf(SendWelcome);
    expect(pushed?.job).toEqual(new SendWelcome('ada@example.org'));
    expect(JSON.parse(pushed?.text ?? '')).toEqual(pushed?.payload);
    expect(queue.pushed(SendWelcome, (job) => job.email === '')).toEqual([]);
  });

  it('returns everything that was pushed, in order, whatever it is', async () => {
    await Queue.bulk([new MakeReport('a'), new MakeReport('b')]);
    await Queue.laterOn('foreign', '5m', 'Reports@daily', { day: 1 });
    await Queue.pushRaw('no payload', 'raw');

    expect(queue.pushes.map(({ name, queue, delay, text }) => [name, queue, delay, text.length > 0])).toEqual([
      ['MakeReport', 'default', 0, true],
      ['MakeReport', 'default', 0, true],
      ['Reports', 'foreign', 300, true],
      ['', 'raw', 0, true],
    ]);
    expect(queue.pushes.at(-1)).toEqual({
      id: '',
      name: '',
      connection: expect.any(String),
      queue: 'raw',
      delay: 0,
      payload: {},
      text: 'no payload',
    });
  });

  it('does not count a push that the store refused', async () => {
    await Queue.laterRaw('1m', '{"job":"Reports@daily"}');

    await expect(Queue.laterRaw('2m', '{"job":"Reports@daily"}')).rejects.toMatchObject({
      code: 'E_DUPLICATE_PAYLOAD',
    });

    queue.assertCount(1);
  });

  it('lists what was pushed if an assertion fails', async () => {
    await SendWelcome.dispatch('ada@example.org').delay('10m');
    await Queue.push('Reports@daily', { day: 1 });
    await Queue.pushRaw('no payload', 'raw');

    const name = queue.pushes[0]?.connection;
    expect(complaint(() => queue.assertPushed(MakeReport)).split('\n')).toEqual([
      'MakeReport was not pushed. What was pushed:',
      `  1. SendWelcome { email: 'ada@example.org', since: 1970-01-01T00:00:00.000Z } on the queue 'mail' of '${name}', delayed by 600 s`,
      `  2. Reports { day: 1 } on the queue 'default' of '${name}'`,
      `  3. the string 'no payload' on the queue 'raw' of '${name}'`,
    ]);
  });

  it('says if nothing was pushed', () => {
    expect(complaint(() => queue.assertPushed(MakeReport))).toBe('MakeReport was not pushed. Nothing was pushed.');
  });

  it('does not list hundreds', async () => {
    await Queue.bulk(Array.from({ length: 300 }, (_, index) => new MakeReport(String(index))));

    const lines = complaint(() => queue.assertNothingPushed()).split('\n');

    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe('  … and 280 more');
  });

  it('reports a failed assertion at the line of the test', () => {
    const { stack = '' } = failure(() => queue.assertPushed(MakeReport));

    expect(stack.split('\n').find((line) => line.includes(' at '))).toContain(__filename);
  });

  it('fails if a worker could not restore the job', async () => {
    await Queue.pushRaw(
      '{"job":"onqueue","data":{"commandName":"SendReport","command":{"a":1},"types":{"/a":"Nope"}}}',
    );

    expect(() => queue.assertPushed(SendReport)).toThrow(expect.objectContaining({ code: 'E_INVALID_PAYLOAD' }));
    expect(complaint(() => queue.assertNothingPushed())).toContain('1. SendReport, whose data cannot be read');
  });

  it('refuses data that a queue cannot carry, as in production', async () => {
    const job = Object.assign(new MakeReport(), { callback: () => undefined });

    await expect(dispatch(job)).rejects.toMatchObject({ code: 'E_UNSERIALIZABLE_VALUE' });
    queue.assertNothingPushed();
  });

  it('uses the clock it was given', async () => {
    queue.restore();
    const clock = new TestClock(new Date('2026-01-01T00:00:00Z'));
    queue = Queue.fake({ clock });

    await SendWelcome.dispatch('ada@example.org').delay(new Date('2026-01-01T01:00:00Z'));

    expect(queue.clock).toBe(clock);
    expect(queue.pushes[0]?.delay).toBe(3600);
  });
});
