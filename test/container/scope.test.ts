import { attachContext } from '../../src/job/choices';
import { container as root, injectable, Lifecycle, scoped, singleton } from 'tsyringe';
import { Inject } from '../../src/container/parameters';
import { inject, methodArguments, openScope, resolveHandler, runInScope } from '../../src/container/scope';
import { Handles } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { JobContext } from '../../src/job/job-context';

class Mailer {
  readonly sent: string[] = [];
}

class Resource {
  disposed = 0;
  dispose(): void {
    this.disposed++;
  }
}

@Job()
class SendMail extends Job {
  handle(@Inject() mailer: Mailer, @Inject(JobContext) context: JobContext) {
    return [mailer, context];
  }
}

const context = { id: 'id-1' } as unknown as JobContext;

describe('the arguments of a call', () => {
  it('are the given ones, followed by those injected for this run', () => {
    class Fails {
      failed(_error: Error, @Inject() _mailer: Mailer) {}
    }
    const scope = openScope(undefined);
    const error = new Error('gone');
    expect(methodArguments(Fails, 'failed', scope, [error])).toEqual([error, new Mailer()]);
  });

  it('may include the running job', () => {
    const scope = openScope(undefined);
    scope.register(JobContext, context);
    expect(methodArguments(SendMail, 'handle', scope, [])).toEqual([new Mailer(), context]);
  });

  it('need no container if nothing is injected', () => {
    class Simple {
      handle() {}
    }
    const createChildContainer = jest.fn();
    const scope = openScope({ createChildContainer });
    scope.register(JobContext, context);
    expect(methodArguments(Simple, 'handle', scope, [])).toEqual([]);
    expect(createChildContainer).not.toHaveBeenCalled();
  });

  it('are reported with class, parameter, position and remedy if they cannot be resolved', () => {
    class NeedsTypes {
      constructor(readonly mailer: Mailer) {}
    }
    class Sends {
      handle(@Inject(NeedsTypes) _needs: NeedsTypes, @Inject('clock') _clock: unknown) {}
    }
    class Asks {
      handle(@Inject('clock') _clock: unknown) {}
    }
    const call = (target: typeof Asks | typeof Sends) => () => methodArguments(target, 'handle', openScope(root), []);
    expect(call(Sends)).toThrow(expect.objectContaining({ code: 'E_RESOLUTION' }));
    expect(call(Sends)).toThrow(
      'Sends.handle, parameter 0 (_needs): NeedsTypes could not be resolved. TypeInfo not known for "NeedsTypes"\n' +
        'The constructor of NeedsTypes has parameters: put @injectable() above class NeedsTypes',
    );
    expect(call(Asks)).toThrow("Register it: container.register('clock', …).");
  });
});

describe("a run's scope on tsyringe", () => {
  it('gives one instance of a scoped class to each run', () => {
    @scoped(Lifecycle.ContainerScoped)
    class Transaction {}
    const [first, second] = [openScope(undefined), openScope(undefined)];
    expect(first.resolve(Transaction)).toBe(first.resolve(Transaction));
    expect(first.resolve(Transaction)).not.toBe(second.resolve(Transaction));
  });

  it('separates runs even for a scoped class declared after its container was made', () => {
    const application = root.createChildContainer();
    @scoped(Lifecycle.ContainerScoped)
    class LateTransaction {}
    const [first, second] = [openScope(application), openScope(application)];
    expect(first.resolve(LateTransaction)).toBe(first.resolve(LateTransaction));
    expect(first.resolve(LateTransaction)).not.toBe(second.resolve(LateTransaction));
  });

  it('gives the singletons and instances of the container it was opened on', () => {
    const application = root.createChildContainer();
    const mailer = new Mailer();
    application.registerInstance(Mailer, mailer);
    expect(openScope(application).resolve(Mailer)).toBe(mailer);
  });

  it('disposes of what it made for the run, the last first, and awaits it', async () => {
    const order: string[] = [];
    class Pool {
      dispose() {
        order.push('pool');
      }
    }
    @injectable()
    class Client {
      constructor(readonly pool: Pool) {}
      async dispose() {
        await Promise.resolve();
        order.push('client');
      }
    }
    const scope = openScope(undefined);
    scope.resolve(Client);
    await scope.dispose();
    expect(order).toEqual(['client', 'pool']);
  });

  it('disposes of a scoped instance once', async () => {
    @scoped(Lifecycle.ContainerScoped)
    class ScopedResource extends Resource {}
    const scope = openScope(undefined);
    const resource = scope.resolve(ScopedResource) as ScopedResource;
    await scope.dispose();
    await scope.dispose();
    expect(resource.disposed).toBe(1);
  });

  it('never disposes of a singleton, its dependencies or an instance of a parent, even if a run used them first', async () => {
    class Inner extends Resource {}
    @singleton()
    class Outer extends Resource {
      constructor(readonly inner: Inner) {
        super();
      }
    }
    const given = new Resource();
    const application = root.createChildContainer();
    application.registerInstance('given', given);
    const scope = openScope(application);
    const outer = scope.resolve(Outer) as Outer;
    scope.resolve('given');
    await scope.dispose();
    expect([outer.disposed, outer.inner.disposed, given.disposed]).toEqual([0, 0, 0]);
    expect(openScope(application).resolve(Outer)).toBe(outer);
  });

  it('disposes of the others if one dispose() throws, and names that one', async () => {
    class Throws {
      dispose() {
        throw new Error('stuck');
      }
    }
    const scope = openScope(undefined);
    const resource = scope.resolve(Resource) as Resource;
    scope.resolve(Throws);
    const disposing = scope.dispose();
    await expect(disposing).rejects.toThrow(expect.objectContaining({ code: 'E_DISPOSE' }));
    await expect(disposing).rejects.toThrow('dispose() of Throws threw after the run: Error: stuck');
    expect(resource.disposed).toBe(1);
  });

  it('makes no child container for services, values or classes without dependencies', () => {
    @singleton()
    class Service {}
    const application = root.createChildContainer();
    application.register('url', { useValue: 'https://example.org' });
    const service = application.resolve(Service);
    const child = jest.spyOn(application, 'createChildContainer');
    const scope = openScope(application);
    scope.register(JobContext, context);

    expect(scope.resolve(Service)).toBe(service);
    expect(scope.resolve('url')).toBe('https://example.org');
    expect(scope.resolve(JobContext)).toBe(context);
    expect(scope.resolve(Mailer)).toBeInstanceOf(Mailer);
    expect(scope.resolve(Mailer)).not.toBe(scope.resolve(Mailer));
    expect(child).not.toHaveBeenCalled();
  });

  it('resolves the inherited constructor of a class without one', () => {
    @injectable()
    class Base {
      constructor(readonly mailer: Mailer) {}
    }
    @injectable()
    class Derived extends Base {}

    expect((openScope(undefined).resolve(Derived) as Derived).mailer).toBeInstanceOf(Mailer);
  });

  it('uses a registration made after the class was first resolved', () => {
    const application = root.createChildContainer();
    const mailer = new Mailer();
    openScope(application).resolve(Mailer);

    application.registerInstance(Mailer, mailer);

    expect(openScope(application).resolve(Mailer)).toBe(mailer);
  });

  it('refuses to resolve once the run is over', async () => {
    const scope = openScope(undefined);
    await scope.dispose();

    expect(() => scope.resolve(Mailer)).toThrow('disposed');
  });

  it('leaves nothing behind in the container it was opened on', async () => {
    const application = root.createChildContainer();
    const scope = openScope(application);
    scope.register(JobContext, context);
    scope.resolve(Resource);
    await scope.dispose();
    expect(application.isRegistered(JobContext as never, true)).toBe(false);
  });
});

describe('a scope on a custom container', () => {
  it('asks the container for everything the run did not register, and passes it the scope', () => {
    const resolve = jest.fn(() => 'given');
    const scope = openScope({ resolve });
    scope.register(JobContext, context);
    expect([scope.resolve('token'), scope.resolve(JobContext)]).toEqual(['given', context]);
    expect(resolve.mock.calls).toEqual([['token', scope]]);
  });

  it('refuses undefined', () => {
    const scope = openScope({ resolve: () => undefined });
    expect(() => methodArguments(SendMail, 'handle', scope, [])).toThrow(
      'SendMail.handle, parameter 0 (mailer): Mailer could not be resolved. The container of the configuration gave undefined',
    );
  });

  it('refuses a promise, because a service that is a promise would have no methods', () => {
    const scope = openScope({ resolve: async () => Promise.reject(new Error('too late')) });
    expect(() => methodArguments(SendMail, 'handle', scope, [])).toThrow(
      'Mailer could not be resolved. The container of the configuration gave a promise for it, but must answer at once',
    );
  });

  it('accepts a service that can be awaited', () => {
    // oxlint-disable-next-line unicorn/no-thenable -- query builders have a then()
    const query = { then: () => undefined };
    expect(openScope({ resolve: () => query }).resolve('query')).toBe(query);
  });

  it('disposes of all handlers that the run made, even if one of them throws', async () => {
    class Throws {
      dispose() {
        throw new Error('stuck');
      }
    }
    const scope = openScope({ resolve: () => undefined });
    const resource = scope.construct(Resource) as Resource;
    scope.construct(Throws);

    await expect(scope.dispose()).rejects.toThrow('dispose() of Throws threw after the run: Error: stuck');
    expect(resource.disposed).toBe(1);
  });

  it('needs a resolve() method', () => {
    expect(() => openScope({})).toThrow(expect.objectContaining({ code: 'E_INVALID_CONTAINER' }));
  });
});

describe('a handler', () => {
  @Job()
  class Order {}

  abstract class BaseHandler {
    constructor(
      readonly mailer: Mailer,
      @Inject('limit') readonly limit: number,
    ) {}
  }

  @Handles(Order)
  class OrderHandler extends BaseHandler {
    readonly context = inject(JobContext);
    disposed = false;
    handle(_job: Order) {}
    dispose() {
      this.disposed = true;
    }
  }

  const openOn = (container: object) => {
    const scope = openScope(container);
    scope.register(JobContext, context);
    return scope;
  };

  const onTsyringe = () => openOn(root.createChildContainer().register('limit', { useValue: 3 }));
  const onGiven = () => openOn({ resolve: (token: unknown) => (token === 'limit' ? 3 : new Mailer()) });

  it.each([
    ['on tsyringe, without @injectable()', onTsyringe],
    ['on a custom container', onGiven],
  ])('gets its constructor and field initialisers injected, and is disposed of with the run, %s', async (_, open) => {
    const scope = open();
    const handler = resolveHandler(OrderHandler, scope) as OrderHandler;
    expect(handler).toBeInstanceOf(OrderHandler);
    expect([handler.mailer, handler.limit, handler.context]).toEqual([new Mailer(), 3, context]);
    await scope.dispose();
    expect(handler.disposed).toBe(true);
  });

  it('is the registered instance if it is registered with tsyringe', () => {
    const handler = new OrderHandler2();
    const scope = openOn(root.createChildContainer().registerInstance(OrderHandler2, handler));
    expect(resolveHandler(OrderHandler2, scope)).toBe(handler);
  });

  it('that cannot be resolved is reported with the parameter and the remedy', () => {
    const onRoot = () => resolveHandler(OrderHandler, openOn(root.createChildContainer()));
    expect(onRoot).toThrow(expect.objectContaining({ code: 'E_RESOLUTION' }));
    expect(onRoot).toThrow('The handler OrderHandler: OrderHandler could not be resolved.');
    expect(onRoot).toThrow('at position #1 of "OrderHandler" constructor');
    expect(onRoot).toThrow("Register it: container.register('limit', …).");
    const onEmpty = () => resolveHandler(OrderHandler, openOn({ resolve: () => undefined }));
    expect(onEmpty).toThrow("OrderHandler's constructor, parameter 0 (mailer): Mailer could not be resolved.");
  });
});

@Job()
class Order2 {}

@Handles(Order2)
class OrderHandler2 {
  handle(_job: Order2) {}
}

describe('inject()', () => {
  it('resolves during the run, even after an await', async () => {
    const scope = openScope(undefined);
    scope.register(JobContext, context);
    const injected = await runInScope(scope, async () => {
      await Promise.resolve();
      return inject(JobContext);
    });
    expect(injected).toBe(context);
  });

  it('separates concurrent runs', async () => {
    const run = async (id: string) => {
      const scope = openScope(undefined);
      scope.register('id', id);
      return runInScope(scope, async () => {
        await Promise.resolve();
        return inject<string>('id');
      });
    };
    expect(await Promise.all([run('a'), run('b')])).toEqual(['a', 'b']);
  });

  it('says where it may be called if it is called elsewhere', () => {
    expect(() => inject(Mailer)).toThrow(expect.objectContaining({ code: 'E_OUTSIDE_RUN' }));
    expect(() => inject(Mailer)).toThrow('inject(Mailer) was called outside of a run.');
  });

  it('names the token that could not be resolved', () => {
    expect(() => runInScope(openScope(undefined), () => inject('missing'))).toThrow(
      "inject('missing'): 'missing' could not",
    );
  });

  it('is available as this.make() in a running job', () => {
    const job = new SendMail();
    const scope = openScope(undefined);
    expect(() => job.make(Mailer)).toThrow(expect.objectContaining({ code: 'E_NOT_RUNNING' }));
    attachContext(job, context);
    expect(runInScope(scope, () => job.make(Mailer))).toEqual(new Mailer());
  });
});
