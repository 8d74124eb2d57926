import { Queue } from 'onqueue';
import { type FakeOptions, runJob } from 'onqueue/testing';
import { MakeReport, SendWelcome } from './jobs';

/** What a program in JavaScript may pass, or one that casts. */
type Given = never;

const refusal = (message: RegExp): Error =>
  expect.objectContaining({ code: 'E_INVALID_JOB_OPTION', message: expect.stringMatching(message) }) as Error;

describe('an option that the test kit cannot use', () => {
  it.each<[object | string, RegExp]>([
    [{ stub: [] }, /^stub of Queue\.fake\(\): \[\] is not valid\. There is no such option; did you mean stubs\.$/],
    [{ excpt: [] }, /did you mean except\.$/],
    [{ delay: true }, /it takes stubs, only, except, clock, schedules\.$/],
    [{ stubs: {} }, /^stubs of .* Give a list of pairs/],
    [{ stubs: [[undefined, {}]] }, /^stubs of .* Give a list of pairs/],
    [{ stubs: [class Mailer {}] }, /^stubs of .* Give a list of pairs/],
    [{ only: MakeReport }, /^only of .* Give a list of job classes/],
    [{ except: ['MakeReport'] }, /^except of .* Give a list of job classes/],
    [{ clock: new Date() }, /^clock of .* Give a TestClock/],
    ['MakeReport', /^the options of Queue\.fake\(\): 'MakeReport' is not valid\. Give an object/],
  ])('is refused by Queue.fake(): %p', (options, message) => {
    expect(() => Queue.fake(options as FakeOptions).restore()).toThrow(refusal(message));
    // Nothing stays in place.
    Queue.fake().restore();
  });

  it.each<[object, RegExp]>([
    [{ delay: true }, /^delay of drain\(\): true is not valid\. There is no such option; it takes connection, queue, /],
    [{ delayed: 'yes' }, /^delayed of .* Give true or false\.$/],
    [{ queue: 5 }, /^queue of .* Give the name of a queue, or a list of names/],
    [{ queue: ['mail', 5] }, /^queue of .* Give the name of a queue, or a list of names/],
    [{ connection: 5 }, /^connection of .* Give a string/],
    [{ throwOnFailure: 1 }, /^throwOnFailure of .* Give true or false\.$/],
  ])('is refused by drain(): %p', async (options, message) => {
    using queue = Queue.fake();

    await expect(queue.drain(options)).rejects.toEqual(refusal(message));
  });

  it.each<[object, RegExp]>([
    [{ attempt: 2 }, /^attempt of runJob\(\): 2 is not valid\. There is no such option; did you mean attempts\.$/],
    [{ stubs: {} }, /^stubs of .* Give a list of pairs/],
    [{ chain: 5 }, /^chain of .* Give a list of jobs/],
    [{ batch: 'yes' }, /^batch of .* Give true or false\.$/],
    [{ clock: 5 }, /^clock of .* Give a TestClock/],
  ])('is refused by runJob(): %p', async (options, message) => {
    await expect(runJob(new MakeReport(), options)).rejects.toEqual(refusal(message));
  });

  it('is refused by assertions that take a predicate, whatever was pushed', () => {
    using queue = Queue.fake();
    const message = refusal(/^the predicate of an assertion: 'x' is not valid\. Give a function/);

    expect(() => queue.assertPushed(SendWelcome, 'x' as Given)).toThrow(message);
    expect(() => queue.assertPushedOn('mail', SendWelcome, 'x' as Given)).toThrow(message);
    expect(() => queue.assertNotPushed(SendWelcome, 'x' as Given)).toThrow(message);
  });
});
