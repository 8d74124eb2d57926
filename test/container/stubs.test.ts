import { container as root, injectable, singleton } from 'tsyringe';
import { openScope } from '../../src/container/scope';
import { withStubs } from '../../src/container/stubs';

class Wire {
  readonly kind: string = 'real';
}

@injectable()
class Phone {
  constructor(readonly wire: Wire) {}
}

const stub = { kind: 'stub' };

/** What a run resolves from a container. */
const resolved = (container: ReturnType<typeof withStubs>, token: unknown) => openScope(container).resolve(token);

describe('stubs', () => {
  it('leave the container unchanged if there are none', () => {
    const container = { resolve: () => 'given' };

    expect(withStubs(container, [])).toBe(container);
    expect(withStubs(undefined, [])).toBeUndefined();
  });

  it('replace what a run resolves by class, name or symbol', () => {
    const token = Symbol('wire');
    const container = withStubs(undefined, [
      [Wire, stub],
      ['wire', 'by name'],
      [token, 'by symbol'],
    ]);

    expect([Wire, 'wire', token].map((asked) => resolved(container, asked))).toEqual([stub, 'by name', 'by symbol']);
    expect(root.resolve(Wire).kind).toBe('real');
  });

  it('use the last one given for a token', () => {
    const stubs = [
      [Wire, 'first'],
      [Wire, 'second'],
    ] as const;

    expect(resolved(withStubs(undefined, stubs), Wire)).toBe('second');
    expect(resolved(withStubs({ resolve: () => 'given' }, stubs), Wire)).toBe('second');
  });

  it('reach the dependencies of others, below the configured tsyringe container', () => {
    const child = root.createChildContainer();
    child.register('number', { useValue: 42 });
    const container = withStubs(child, [[Wire, stub]]);

    expect(resolved(container, Phone)).toMatchObject({ wire: stub });
    expect(resolved(container, 'number')).toBe(42);
  });

  it('reach a singleton that is first used then, which is shared by all runs and ends with them', () => {
    @singleton()
    class Exchange {
      constructor(readonly wire: Wire) {}
    }
    const container = withStubs(undefined, [[Wire, stub]]);

    const exchange = resolved(container, Exchange);

    expect(exchange).toMatchObject({ wire: stub });
    expect(resolved(container, Exchange)).toBe(exchange);
    expect(root.resolve(Exchange).wire).toBeInstanceOf(Wire);
  });

  it('do not replace an existing singleton', () => {
    @singleton()
    class Counter {}
    const counter = root.resolve(Counter);

    expect(resolved(withStubs(undefined, [[Wire, stub]]), Counter)).toBe(counter);
  });

  it("take precedence over a custom container, which still gets the run's scope", () => {
    const asked: unknown[] = [];
    const given = { resolve: (token: unknown, scope: unknown) => (asked.push(token, scope), 'given') };
    const scope = openScope(withStubs(given, [[Wire, stub]]));

    expect([scope.resolve(Wire), scope.resolve(Phone)]).toEqual([stub, 'given']);
    expect(asked).toEqual([Phone, scope]);
  });
});
