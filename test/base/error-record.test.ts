import { errorRecord } from '../../src/base/exception-text';
import { openScope, runInScope } from '../../src/container/scope';

it("an error record has the fields of pino's err: type, message, code, stack and cause", () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const record = errorRecord(new TypeError('not sent', { cause }));

  expect(record).toMatchObject({
    type: 'TypeError',
    message: 'not sent',
    stack: expect.stringMatching(/^TypeError: not sent\n +at .*error-record\.test\.ts/) as string,
    cause: { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
  });
  expect(JSON.parse(JSON.stringify(record))).toEqual(record);
});

it('an error record leaves out the frames of Onqueue and Node.js', () => {
  const { stack } = errorRecord(runInScope(openScope(), () => new Error('thrown')));

  expect(stack).toContain('error-record.test.ts');
  expect(stack).not.toMatch(/src.container|node:internal|node:async_hooks/);
});

it('an error record masks secrets in messages, stacks and causes', () => {
  const error = new Error('redis://u:hunter2@h', { cause: new Error('password=hunter2') });

  expect(JSON.stringify(errorRecord(error))).not.toContain('hunter2');
});

it('an error record includes aggregated errors, and shows each of circular causes once', () => {
  const first = new Error('first');
  first.cause = new Error('second', { cause: first });
  const record = errorRecord(new AggregateError([first, 'no error'], 'all failed'));

  expect(record.aggregateErrors).toHaveLength(1);
  expect(JSON.stringify(record).match(/"message":"first"/g)!.length).toBe(1);
});

it('an error record can be made of anything that is thrown', () => {
  const hostile = new Proxy(new Error('x'), {
    get() {
      throw new Error('no');
    },
  });

  expect(errorRecord(hostile).message).toBe('an unreadable error: looking at it throws another one');
});
