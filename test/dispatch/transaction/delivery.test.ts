/** A commit whose jobs cannot all be sent: none is lost silently. */
import { Queue } from '../../../src/application/queue';
import { away, given, handled, pushed, Pushes, Relays, rejection } from './mails';

describe('a commit whose jobs cannot all be sent', () => {
  it('reports which jobs were sent and which were not, and keeps the result of the function', async () => {
    const { send, watched } = given();
    const cause = away('other');
    watched('other').beforePush = () => Promise.reject(cause);
    const ids: string[] = [];

    const error = await rejection(
      Queue.transaction(async () => {
        ids.push(
          await send(1).onConnection('other'),
          await send(2),
          await send(3).onConnection('other').onQueue('mail'),
        );
        return 'the result';
      }),
    );

    const [first, second, third] = ids;
    expect(error.facts).toEqual({
      sent: [{ id: second, name: 'Mail', connection: 'main', queue: 'default' }],
      failed: [],
      unsent: [
        { id: first, name: 'Mail', connection: 'other', queue: 'default' },
        { id: third, name: 'Mail', connection: 'other', queue: 'mail' },
      ],
    });
    expect(error.result).toBe('the result');
    expect(error.message).toContain(
      `of the 3 jobs that were to follow it, 2 were not queued (Mail ${first}, Mail ${third}): Redis at redis://a cannot be ` +
        'reached; Mail was not queued.',
    );
    expect(error.cause).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
    expect(pushed(watched())).toEqual([2]);
  });

  it('asks an unreachable connection only once, but goes on after a refused page', async () => {
    const { send, watched } = given();
    let asked = 0;
    watched('other').beforePush = () => {
      asked += 1;
      throw away('other');
    };
    watched().beforePush = (count) => {
      if (count === 0 && asked++ === 1) throw new Error('refused');
    };

    const error = await rejection(
      Queue.transaction(async () => {
        for (const queue of ['a', 'b', 'c']) await send(queue).onConnection('other').onQueue(queue);
        for (const queue of ['d', 'e']) await send(queue).onQueue(queue);
      }),
    );

    expect(error.facts.unsent.map(({ queue }) => queue)).toEqual(['a', 'b', 'c', 'd']);
    expect(error.cause).toMatchObject({ errors: [{ code: 'E_QUEUE_UNAVAILABLE' }, { message: 'refused' }] });
    expect(pushed(watched())).toEqual(['e']);
  });

  it('sends them again with the same ids on resend(), once', async () => {
    const { bus, send, watched } = given();
    watched().beforePush = () => Promise.reject(away('main'));
    const ids: string[] = [];
    const error = await rejection(
      Queue.transaction(async () => {
        ids.push(await send(1), await send(2));
        await bus.dispatchToQueue(new Pushes('nobody')).afterCommit();
      }),
    );
    watched().beforePush = () => undefined;

    const [again, twice] = [error.resend(), error.resend()];

    const left = await rejection(again);
    expect(await rejection(twice)).toBe(left);
    expect(left.facts.unsent).toEqual([{ id: '', name: 'Pushes', connection: 'main', queue: 'default' }]);
    expect(left.message).toContain('(Pushes): no such address');
    expect(await watched().payloads('default')).toMatchObject(ids.map((id) => ({ id })));
  });

  it('reports a failed job of the connection sync', async () => {
    const { send } = given();
    const error = await rejection(Queue.transaction(() => send('nobody').onConnection('sync')));
    expect(error.cause).toMatchObject({ message: 'no such address' });
  });

  it('reports a job that ran on sync and failed separately, and does not run it again', async () => {
    const { send, watched } = given();
    watched().beforePush = () => Promise.reject(away('main'));
    const error = await rejection(
      Queue.transaction(async () => {
        for (const to of ['first', 'nobody', 'third']) await send(to).onConnection('sync');
        await send('later');
      }),
    );
    handled.length = 0;
    watched().beforePush = () => undefined;

    await error.resend();

    expect([error.facts.sent.length, error.facts.failed.length, error.facts.unsent.length]).toEqual([2, 1, 1]);
    expect(error.message).toMatch(
      /of the 4 jobs that were to follow it, 1 was not queued \(Mail \S+\), and 1 ran at once and failed \(Mail \S+\): [^.]+\. .*error\.resend/,
    );
    expect(handled).toEqual([]);
    expect(pushed(watched())).toEqual(['later']);
  });

  it('does not mistake a failed sync job, which found another connection away, for a connection that is away', async () => {
    const { bus } = given();
    const error = await rejection(
      Queue.transaction(async () => {
        for (let one = 0; one < 2; one += 1) await bus.dispatch(new Relays()).onConnection('sync').afterCommit();
      }),
    );
    expect(error.facts.failed).toHaveLength(2);
    expect(error.message).toContain('nothing was queued.');
  });

  it('names at most five jobs', async () => {
    const { manager, send } = given();
    const error = await rejection(
      Queue.transaction(async () => {
        for (let one = 0; one < 7; one += 1) await send(one);
        await manager.close();
      }),
    );
    expect(error.message).toMatch(/7 were not queued \((Mail [-\w]+, ){5}and 2 more\): This QueueManager was closed/);
  });
});
