/** What `@Listens()` accepts and refuses when a class is declared. */
import { dispatch, Events, Handles, Inject, Job, Listens } from 'onqueue';
import { registry } from '../../src/job/registry';

class Shipped {
  constructor(readonly order: number) {}
}

class Listener {
  handle(_event: Shipped): void {}
}

const declare = (event: unknown, listener: unknown, options?: object) => (): void => {
  Listens(event as never, options)(listener as never);
};

const invalid = (message: string) => expect.objectContaining({ code: 'E_INVALID_LISTENER', message });

describe('@Listens()', () => {
  it('declares a job under the name of the listener, with its options and its file', () => {
    @Listens(Shipped, { queue: 'mail', tries: 3 })
    class SendMail extends Listener {}
    const job = registry().find('SendMail')!;
    expect(job).toMatchObject({ options: { queue: 'mail', tries: 3 }, file: __filename });
    expect([registry().handlerOf(job.target), registry().jobOf(SendMail)]).toEqual([SendMail, job]);
    expect(registry().knows(SendMail) && registry().knows(Shipped)).toBe(true);
  });

  it('gives a listener the options of the listener that it extends', () => {
    @Listens(Shipped, { queue: 'mail', tries: 3 })
    class Parent extends Listener {}
    @Listens(Shipped, { tries: 5 })
    class _Child extends Parent {}
    expect(registry().find('_Child')!.options).toEqual({ queue: 'mail', tries: 5 });
  });

  it('refuses an event that is undefined, is not a class, or would lose its contents', () => {
    expect(declare(undefined, Listener)).toThrow(
      invalid(
        '@Listens on Listener (test/job/listens.test.ts): the class of the event is undefined. Two files import each ' +
          'other: move the event into a file of its own.',
      ),
    );
    expect(declare('shipped', Listener)).toThrow('the event is not a class.');
    expect(declare(() => undefined, Listener)).toThrow('the event is not a class.');
    expect(declare(class {}, Listener)).toThrow('the class of the event needs a name');
    expect(declare(Object, Listener)).toThrow('the event is Object, whose contents would be lost on the way.');
    expect(declare(class Broken extends Error {}, Listener)).toThrow('the event extends Error, whose contents');
    class Hidden {
      #order = 1;
      read = (): number => this.#order;
    }
    expect(declare(Hidden, Listener)).toThrow('Hidden has private #fields (#order), which cannot be restored');
  });

  it('refuses a class without a method handle(), with @Job() too, or with @Listens() twice', () => {
    class InField {
      handle = (): void => undefined;
    }
    expect(declare(Shipped, InField)).toThrow(
      'it has no method handle(event). (An arrow function in a field does not count.)',
    );
    class Twice extends Listener {}
    declare(Shipped, Twice)();
    expect(declare(Shipped, Twice)).toThrow('it has @Listens() twice. Let both events extend one class');
    expect(() => Job()(Twice)).toThrow('Twice (test/job/listens.test.ts) has @Listens() too. Remove one of the two.');
    @Job()
    class JobToo {
      handle(): void {}
    }
    expect(declare(Shipped, JobToo)).toThrow('it has @Job() too. Remove one of the two.');
  });

  it('checks options as @Job() does, but takes no schedule', () => {
    expect(declare(Shipped, class Attempts extends Listener {}, { attempts: 3 })).toThrow(
      expect.objectContaining({
        code: 'E_UNKNOWN_JOB_OPTION',
        message: '@Listens on Attempts (test/job/listens.test.ts): unknown option `attempts`; did you mean `tries`?',
      }),
    );
    expect(declare(Shipped, class Tries extends Listener {}, { tries: -1 })).toThrow('tries on Tries');
    expect(declare(Shipped, class Nothing extends Listener {}, null as never)).toThrow('@Listens on Nothing');
    expect(declare(Shipped, class Timed extends Listener {}, { schedule: { every: '1h' } })).toThrow(
      'it has a schedule, but runs when its event is dispatched. Dispatch the event from a scheduled job.',
    );
  });

  it('refuses parameters that nothing would fill', () => {
    class Mailer {}
    class Uninjected {
      handle(_event: Shipped, _mailer: Mailer): void {}
    }
    class Misplaced {
      handle(@Inject(Shipped) _event: Shipped): void {}
    }
    class Asks {
      handle(_event: Shipped): void {}
      shouldQueue(_event: Shipped, _mailer: Mailer): boolean {
        return true;
      }
    }
    expect(declare(Shipped, Uninjected)).toThrow('Uninjected.handle, parameter 1 (_mailer)');
    expect(declare(Shipped, Misplaced)).toThrow('@Inject() stands in the wrong place.');
    expect(declare(Shipped, Asks)).toThrow('Asks.shouldQueue, parameter 1 (_mailer)');
  });

  it('refuses two events of one name, even of one file', () => {
    const [first, second] = [class Paid {}, class Paid {}];
    class One extends Listener {}
    class Other extends Listener {}
    declare(first, One)();
    expect(declare(second, Other)).toThrow(
      expect.objectContaining({
        code: 'E_DUPLICATE_JOB',
        message: expect.stringContaining("Two classes claim the name 'Paid'") as string,
      }),
    );
    expect(declare(second, Other)).toThrow('Give one of them another: Events.register({ … }).');
  });

  it('refuses a name that a job has', () => {
    @Job()
    class _Taken extends Job {}
    class _Wants extends Listener {}
    expect(declare(Shipped, _Wants, { name: '_Taken' })).toThrow("Two classes claim the name '_Taken'");
    expect(declare(Shipped, _Wants, { name: '_Taken' })).toThrow("@Listens(…, { name: '…' })");
  });

  it('replaces a listener and its event that are evaluated again', () => {
    const evaluate = (): readonly [new () => object, object] => {
      class Again {}
      class HearsAgain extends Listener {}
      declare(Again, HearsAgain)();
      return [Again, HearsAgain];
    };
    const [Old, oldListener] = evaluate();
    const [New, newListener] = evaluate();
    expect(newListener).not.toBe(oldListener);
    for (const event of [new Old(), new New()]) {
      const targets = registry()
        .carriersOf(event)
        .map(({ target }) => registry().handlerOf(target));
      expect(targets).toEqual([newListener]);
    }
    expect(registry().classOf('Again')).toBe(New);
  });

  it('is not to be dispatched, or given another handler', async () => {
    @Listens(Shipped)
    class Dispatched extends Listener {}
    await expect(dispatch(new Dispatched())).rejects.toThrow(
      'Dispatched listens to an event and is not a job. Dispatch the event: Events.dispatch(new OrderShipped(…)).',
    );
    expect(() => Handles(Dispatched)(class {} as never)).toThrow('Dispatched has no @Job()');
  });
});

describe('Events.register()', () => {
  it('names a class in payloads, before its first listener', () => {
    class Renamed {}
    Events.register({ 'shop.renamed': Renamed });
    class HearsRenamed extends Listener {}
    declare(Renamed, HearsRenamed)();
    expect(registry().nameOf(Renamed)).toBe('shop.renamed');
    expect(registry().carriersOf(new Renamed())).toHaveLength(1);
    expect(() => Events.register({ Renamed })).toThrow(
      expect.objectContaining({
        code: 'E_INVALID_EVENT',
        message:
          "The class Renamed cannot be sent to listeners. Events.register(), 'Renamed': the event is known as 'shop.renamed' already.",
      }),
    );
  });

  it('refuses what is not a class', () => {
    expect(() => Events.register({ Missing: undefined as never })).toThrow(
      "undefined cannot be sent to listeners. Events.register(), 'Missing': the event is not a class.",
    );
  });
});
