import { Queue } from '../../src/application/queue';

describe('a program written as for BullMQ', () => {
  it.each<[call: string, wrong: () => unknown]>([
    ["new Queue('mail')", () => Reflect.construct(Queue, ['mail'])],
    ["Queue.add('welcome', { to: 'ada' })", () => Reflect.apply(Queue.add, Queue, ['welcome', { to: 'ada' }])],
  ])('is told what to write in place of %s', (call, wrong) => {
    const message = expect.stringMatching(/there is no object for each queue.*@Job\(\{ queue: 'mail' \}\)/) as string;
    expect(wrong).toThrow(expect.objectContaining({ code: 'E_NO_QUEUE_OBJECT', facts: { call }, message }));
  });
});
