/** Jobs that follow a transaction: they are sent once its function resolves, and never if it rejects. */
import { Queue } from '../../../src/application/queue';
import { given, handled, Mail, pushed, Pushes } from './mails';

beforeEach(() => void handled.splice(0));

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('Queue.transaction()', () => {
  it('resolves with the result of its function, and then sends what was dispatched in it', async () => {
    const { send, watched } = given();
    let id: string | undefined;

    const result = await Queue.transaction(async () => {
      id = await send('ada');
      await turn();
      expect(pushed(watched())).toEqual([]);
      return 42;
    });

    expect(result).toBe(42);
    expect(await watched().payloads('default')).toMatchObject([{ id }]);
  });

  it('sends nothing if its function rejects or throws', async () => {
    const { send, watched } = given();
    const failed = new Error('rolled back');

    const rejects = Queue.transaction(async () => {
      await send('ada');
      throw failed;
    });
    const throws = Queue.transaction(() => {
      void send('ada');
      throw failed;
    });

    await expect(rejects).rejects.toBe(failed);
    await expect(throws).rejects.toBe(failed);
    await turn();
    expect(pushed(watched())).toEqual([]);
  });

  it('sends dispatches that its function did not await', async () => {
    const { send, watched } = given();

    await Queue.transaction(() => {
      void send('ada').onQueue('mail');
    });

    expect(watched().pushes).toMatchObject([{ queue: 'mail' }]);
  });

  it('sends a dispatch without afterCommit() at once', async () => {
    const { bus, watched } = given();

    await Queue.transaction(async () => {
      await bus.dispatchToQueue(new Mail('ada'));
      expect(pushed(watched())).toEqual(['ada']);
    });
  });

  it('sends the data as they were at the dispatch', async () => {
    const { bus, watched } = given();
    const mail = new Mail('ada');

    await Queue.transaction(async () => {
      await bus.dispatchToQueue(mail).afterCommit();
      mail.to = 'bob';
      mail.onQueue('elsewhere').delay('1h');
    });

    expect(await watched().payloads('default')).toMatchObject([{ data: { command: { to: 'ada' } } }]);
  });

  it('rejects a dispatch that cannot be encoded inside the function', async () => {
    const { send } = given();
    await Queue.transaction(async () => {
      await expect(send(() => 'a function')).rejects.toMatchObject({ code: 'E_UNSERIALIZABLE_VALUE' });
    });
  });

  it('sends with one call for each connection and queue, in the order of the dispatches', async () => {
    const { send, watched } = given();

    await Queue.transaction(async () => {
      await send(1);
      await send(2).onQueue('mail');
      await send(3).onConnection('other');
      await send(4).onConnection('none');
      await send(5);
    });

    expect(watched().pushes.map(({ queue }) => queue)).toEqual(['default', 'mail']);
    expect(pushed(watched())).toEqual([1, 5, 2]);
    expect(pushed(watched('other'))).toEqual([3]);
  });

  it('runs jobs of the connection sync at the commit', async () => {
    const { send } = given();

    await Queue.transaction(async () => {
      await send('ada').onConnection('sync');
      expect(handled).toEqual([]);
    });

    expect(handled).toEqual(['ada']);
  });

  it('counts a relative delay from the commit, but keeps an absolute moment', async () => {
    const { bus, clock, send, watched } = given();

    await Queue.transaction(async () => {
      await send('span').delay('1m');
      await send('moment').delay(new Date(clock.now() + 60_000));
      await send('past').delay(new Date(clock.now() + 10_000));
      await bus
        .dispatchToQueue(new Pushes('own'))
        .delay(new Date(clock.now() + 60_000))
        .afterCommit();
      await clock.advance('20s');
    });

    const [own, span, moment, past] = watched().pushes.flatMap(({ entries }) => entries);
    const begun = clock.now() - 20_000;
    expect([own?.dueAt, moment?.dueAt, past?.dueAt]).toEqual([begun + 60_000, begun + 60_000, begun + 10_000]);
    expect(span?.delay).toBe(60);
  });

  it('lets a job with its own queue() push itself at the commit', async () => {
    const { bus, watched } = given();

    await Queue.transaction(async () => {
      expect(await bus.dispatchToQueue(new Pushes('ada')).afterCommit()).toBe('');
      expect(watched().pushes).toEqual([]);
    });

    expect(watched().pushes).toMatchObject([{ queue: 'own' }]);
  });

  it('holds jobs of several managers', async () => {
    const [one, other] = [given(), given()];

    await Queue.transaction(async () => {
      await one.send('ada');
      await other.send('bob');
    });

    expect([pushed(one.watched()), pushed(other.watched())]).toEqual([['ada'], ['bob']]);
  });

  it('is independent of a concurrent transaction', async () => {
    const { send, watched } = given();
    const one = Queue.transaction(async () => {
      await turn();
      await send('ada');
      throw new Error('rolled back');
    });
    const other = Queue.transaction(async () => {
      await turn();
      await send('bob');
    });

    await Promise.allSettled([one, other]);

    expect(pushed(watched())).toEqual(['bob']);
  });

  it('refuses an argument that is not a function', async () => {
    await expect(Queue.transaction(Promise.resolve() as never)).rejects.toMatchObject({ code: 'E_INVALID_HOOK' });
  });

  it('is awaited by close() while it sends', async () => {
    const { manager, send, watched } = given();
    const driver = watched();
    const gate = { open: (): void => undefined };
    driver.beforePush = () => new Promise((resolve) => void (gate.open = resolve));
    const transaction = Queue.transaction(() => send('ada'));
    await turn();

    const closing = manager.close();
    await turn();
    gate.open();
    await Promise.all([closing, transaction]);

    expect(pushed(driver)).toEqual(['ada']);
  });
});

describe('a nested transaction', () => {
  it('passes its jobs to the outer one, which sends them when it is done', async () => {
    const { send, watched } = given();

    await Queue.transaction(async () => {
      await send(1);
      const inner = Queue.transaction(async () => {
        await send(2);
        await turn();
      });
      await send(3);
      await inner;
      expect(pushed(watched())).toEqual([]);
    });

    expect(pushed(watched())).toEqual([1, 2, 3]);
  });

  it('drops only its own jobs when it is rolled back', async () => {
    const { send, watched } = given();

    await Queue.transaction(async () => {
      await send(1);
      const inner = Queue.transaction(async () => {
        await send(2);
        await Queue.transaction(() => send(3));
        throw new Error('rolled back');
      });
      await inner.catch(() => undefined);
      await send(4);
    });

    expect(pushed(watched())).toEqual([1, 4]);
  });

  it('is rolled back with the outer one', async () => {
    const { send, watched } = given();

    const outer = Queue.transaction(async () => {
      await Queue.transaction(() => send(1));
      throw new Error('rolled back');
    });

    await expect(outer).rejects.toThrow('rolled back');
    expect(pushed(watched())).toEqual([]);
  });

  it('sends its jobs itself if the outer one committed without waiting for it', async () => {
    const { send, watched } = given();
    const inner = await Queue.transaction(() => [
      Queue.transaction(async () => {
        await turn();
        await send(1);
      }),
    ]);
    expect(pushed(watched())).toEqual([]);

    await Promise.all(inner);

    expect(pushed(watched())).toEqual([1]);
  });

  it('rejects if the outer one was rolled back without waiting for it', async () => {
    const { send, watched } = given();
    const inner: Promise<unknown>[] = [];
    const outer = Queue.transaction(() => {
      inner.push(Queue.transaction(() => turn().then(() => send(1))));
      throw new Error('rolled back');
    });
    await expect(outer).rejects.toThrow('rolled back');

    await expect(inner[0]).rejects.toMatchObject({ code: 'E_ROLLED_BACK', facts: { jobs: ['Mail'] } });

    expect(pushed(watched())).toEqual([]);
  });
});

describe('a dispatch with afterCommit()', () => {
  it('is sent at once outside a transaction', async () => {
    const { send, watched } = given();
    await send('ada');
    expect(pushed(watched())).toEqual(['ada']);
  });

  it('is sent at once if its transaction has already committed', async () => {
    const { send, watched } = given();
    const [late] = await Queue.transaction(() => [turn().then(() => send('ada'))]);

    await late;

    expect(pushed(watched())).toEqual(['ada']);
  });

  it('is refused if its transaction has already been rolled back', async () => {
    const { send, watched } = given();
    const late = turn().then(() => send('ada'));
    let dispatch: Promise<string> = late;
    const transaction = Queue.transaction(() =>
      Promise.all([Promise.reject(new Error('rolled back')), (dispatch = turn().then(() => send('bob')))]),
    );
    await expect(transaction).rejects.toThrow('rolled back');

    await expect(dispatch).rejects.toThrow(
      /^Mail was to follow a Queue.transaction\(\) that had already been rolled back/,
    );
    await late;

    expect(pushed(watched())).toEqual(['ada']);
  });

  it('refuses a builder call after it was sent', async () => {
    const { bus } = given();
    const pending = bus.dispatchToQueue(new Mail('ada'));
    await pending;
    expect(() => pending.afterCommit()).toThrow(/call afterCommit\(\) before the first await/);
  });

  it('may be on a dispatch whose condition does not hold', async () => {
    expect(await given().bus.none().afterCommit()).toBeUndefined();
  });
});
