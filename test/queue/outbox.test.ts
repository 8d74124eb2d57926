import { Outbox } from '../../src/queue/outbox';

describe('the outbox', () => {
  it('sends what waits a microtask later, in order', async () => {
    const outbox = new Outbox();
    const sent: string[] = [];
    for (const name of ['a', 'b']) outbox.add({ send: async () => void sent.push(name) });

    expect(sent).toEqual([]);
    await Promise.resolve();

    expect(sent).toEqual(['a', 'b']);
  });

  it('is flushed when all that is on its way has arrived, also what was added meanwhile', async () => {
    const outbox = new Outbox();
    const sent: string[] = [];
    outbox.add({
      send: async () => {
        await Promise.resolve();
        outbox.add({ send: async () => void sent.push('second') });
        sent.push('first');
      },
    });

    await outbox.flush();

    expect(sent).toEqual(['first', 'second']);
  });
});
