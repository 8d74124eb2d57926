import { AsyncLocalStorage } from 'node:async_hooks';
import { Outbox } from '../../src/dispatch/pending-dispatch';

describe('the outbox', () => {
  it('starts the functions it is given a microtask later, in order', async () => {
    const outbox = new Outbox();
    const begun: string[] = [];
    for (const name of ['a', 'b']) void outbox.send(async () => begun.push(name));

    expect(begun).toEqual([]);
    await Promise.resolve();

    expect(begun).toEqual(['a', 'b']);
  });

  it('starts each function in the async context in which it was given', async () => {
    const outbox = new Outbox();
    const tenant = new AsyncLocalStorage<string>();
    const begin = async (): Promise<string | undefined> => tenant.getStore();

    const seen = ['museum', 'bank'].map((name) => tenant.run(name, () => outbox.send(begin)));

    expect(await Promise.all(seen)).toEqual(['museum', 'bank']);
  });

  it('is flushed once everything it sends has resolved or failed, including what was added meanwhile', async () => {
    const outbox = new Outbox();
    const ended: string[] = [];
    const failing = outbox.send(async () => {
      await Promise.resolve();
      void outbox.send(async () => ended.push('second'));
      ended.push('first');
      throw new Error('It is away.');
    });

    await Promise.all([outbox.flush(), expect(failing).rejects.toThrow('away')]);

    expect(ended).toEqual(['first', 'second']);
  });
});
