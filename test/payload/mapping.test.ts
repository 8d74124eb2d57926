import { Exclude, Expose, Transform, Type } from 'class-transformer';
import * as fc from '../support/properties';
import type { Class } from '../../src/base/class';
import { decodeValue } from '../../src/payload/envelope';
import { encodeInstance } from '../../src/payload/encoder';
import { UnserializableValueError } from '../../src/payload/errors';
import { toInstance } from '../../src/payload/mapping';
import { differences } from './exactly';
import { anyFields, anyValue } from './values';
import { classesOf } from './classes';

const known = new Map<string, Class>();
const classes = classesOf(known);

const constructed: string[] = [];

const encode = (instance: object) => encodeInstance(instance, classes, 'X');
const wire = (instance: object): unknown => JSON.parse(JSON.stringify(encode(instance).command));
const roundTrip = <T extends object>(instance: T): T => {
  const { command, types } = JSON.parse(JSON.stringify(encode(instance))) as ReturnType<typeof encode>;
  const data = decodeValue(command, types, classes) as Record<string, unknown>;
  return toInstance(instance.constructor, data, '') as T;
};
const dataOf = (instance: object): object => Object.fromEntries(Object.entries(instance));
const messageOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return '';
};

class Plain {
  constructor() {
    constructed.push('Plain');
  }
}

class Decorated {
  @Expose() marker = 1;

  constructor() {
    constructed.push('Decorated');
  }
}

class Address {
  city: string;
  readonly since?: Date;

  constructor(city = 'unknown', since?: Date) {
    this.city = city;
    if (since !== undefined) this.since = since;
  }

  shout(): string {
    return this.city.toUpperCase();
  }
}

class Order {
  @Type(() => Address) address?: Address;
  @Type(() => Address) addresses: Address[] = [];
  @Type(() => Address) byName: Map<unknown, Address> = new Map();
  @Type(() => Address) visited: Set<Address> = new Set();
  @Type(() => Date) at?: Date;
}

describe('an instance without decorators of class-transformer', () => {
  it('comes back with its prototype and its own properties, and no constructor runs', () => {
    const instance = new Plain();
    constructed.length = 0;
    fc.assert(
      fc.property(anyFields, (fields) => {
        const given = Object.assign(Object.create(Plain.prototype) as Plain, fields);
        expect(differences(roundTrip(given), given)).toEqual([]);
      }),
      { numRuns: 60 },
    );
    expect(roundTrip(instance)).toBeInstanceOf(Plain);
    expect(constructed).toEqual([]);
  });

  it('is restored without running the setters of its class or reading its getters', () => {
    class Base {
      get id(): string {
        throw new Error('not running');
      }
      set id(_value: string) {
        throw new Error('read only');
      }
    }
    class Child extends Base {}
    const instance = Object.defineProperty(new Child(), 'id', { value: 'mine', enumerable: true });

    expect(Object.entries(roundTrip(instance))).toEqual([['id', 'mine']]);
  });
});

describe('both ways of mapping', () => {
  it('agree on everything that both can carry', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const plain = Object.assign(Object.create(Plain.prototype) as Plain, { value, marker: 1 });
        const decorated = Object.assign(Object.create(Decorated.prototype) as Decorated, { value, marker: 1 });

        expect(JSON.stringify(encode(decorated))).toBe(JSON.stringify(encode(plain)));
        expect(differences(dataOf(roundTrip(decorated)), dataOf(roundTrip(plain)))).toEqual([]);
        expect(Object.getPrototypeOf(roundTrip(decorated))).toBe(Decorated.prototype);
      }),
      { numRuns: 80 },
    );
    expect(constructed).not.toContain('Decorated');
  });
});

describe('decorators of class-transformer', () => {
  it('@Type restores nested classes: alone, in lists, in sets, and under unchanged keys of a map', () => {
    const order = Object.assign(new Order(), {
      address: new Address('Ghent', new Date(0)),
      addresses: [new Address('Lyon')],
      byName: new Map<unknown, Address>([[1, new Address('Porto')]]),
      visited: new Set([new Address('Turin')]),
      at: new Date(5),
    });

    const back = roundTrip(order);

    expect(differences(back, order)).toEqual([]);
    expect(back.address?.shout()).toBe('GHENT');
  });

  it('@Type converts a date from a producer that does not write types', () => {
    const back = toInstance(Order, { at: '2026-11-21T00:00:00Z', byName: { home: { city: 'Ghent' } } }, '') as Order;

    expect(back.at).toEqual(new Date('2026-11-21T00:00:00Z'));
    expect(back.byName).toEqual(new Map([['home', new Address('Ghent')]]));
  });

  it('@Type runs the constructor of a nested class, but never that of the job', () => {
    class Nested {
      constructor() {
        constructed.push('Nested');
      }
    }
    class Outer {
      @Type(() => Nested) nested = new Nested();
      constructor() {
        constructed.push('Outer');
      }
    }
    const outer = new Outer();
    constructed.length = 0;

    roundTrip(outer);

    expect(constructed).toEqual(['Nested']);
  });

  it('@Type distinguishes subclasses by a discriminator', () => {
    abstract class Shape {}
    class Circle extends Shape {
      radius = 2;
    }
    class Square extends Shape {
      side = 3;
    }
    const subTypes = [
      { value: Circle, name: 'circle' },
      { value: Square, name: 'square' },
    ];
    class Drawing {
      @Type(() => Shape, { discriminator: { property: 'kind', subTypes } })
      shapes: Shape[] = [];
      @Type(() => Shape, { discriminator: { property: 'kind', subTypes } })
      last?: Shape;
    }
    const drawing = Object.assign(new Drawing(), { shapes: [new Circle(), new Square()], last: new Square() });

    const back = roundTrip(drawing);

    expect([...back.shapes, back.last].map((shape) => shape?.constructor)).toEqual([Circle, Square, Square]);
  });

  it('@Exclude leaves a property out, whatever it is', () => {
    class Mail {
      @Exclude() client: unknown = { send: () => 1, self: this };
      to = 'ada';
    }

    expect(wire(new Mail())).toEqual({ to: 'ada' });
  });

  it('@Expose renames a property, adds the value of a getter, and ignores that value on the way back', () => {
    class Name {
      @Expose({ name: 'first_name' }) first = 'Ada';
      @Expose() get initial(): string {
        return this.first.slice(0, 1);
      }
    }
    class FullName extends Name {
      last = 'Lovelace';
    }

    expect(wire(new FullName())).toEqual({ first_name: 'Ada', initial: 'A', last: 'Lovelace' });
    expect(differences(roundTrip(new FullName()), new FullName())).toEqual([]);
  });

  it('@Transform gets the original value in both directions', () => {
    class Upload {
      @Transform(({ value }) => (value as Buffer).toString('hex'), { toPlainOnly: true })
      @Transform(({ value }) => Buffer.from(value as string, 'hex'), { toClassOnly: true })
      content = Buffer.from('ada');
      size = 3n;
    }

    expect(wire(new Upload())).toEqual({ content: '616461', size: '3' });
    expect(differences(roundTrip(new Upload()), new Upload())).toEqual([]);
  });

  it('on a parent also apply to a subclass', () => {
    class SpecialOrder extends Order {}
    const order = Object.assign(new SpecialOrder(), { address: new Address('Ghent') });

    expect(roundTrip(order).address).toBeInstanceOf(Address);
  });

  it('do not trip over a getter of the base class that works only during a run', () => {
    class Base {
      get id(): string {
        throw new Error('not running');
      }
      set id(value: string) {
        Object.defineProperty(this, 'id', { value, writable: true, enumerable: true, configurable: true });
      }
    }
    class WithId extends Base {
      @Expose() marker = 1;
    }
    class Renamed extends Base {
      @Expose({ name: 'id' }) identifier = 7;
    }
    const own = new WithId();
    own.id = 'mine';

    expect(dataOf(roundTrip(own))).toEqual({ marker: 1, id: 'mine' });
    expect(Object.entries(roundTrip(new Renamed()))).toEqual([['identifier', 7]]);
  });

  it('leave instances of registered classes to the codec', () => {
    class Registered {
      at = new Date(0);
      @Exclude() secret = 'x';
    }
    known.set('Registered', Registered);
    const instance = Object.assign(new Decorated(), { inner: new Registered() });

    const back = roundTrip(instance) as unknown as { inner: Registered };

    expect(encode(instance).types).toEqual({ '/inner': 'class:Registered', '/inner/at': 'Date' });
    expect(back.inner).toBeInstanceOf(Registered);
    expect(dataOf(back.inner)).toEqual({ at: new Date(0) });
  });
});

describe('a value that class-transformer would spoil', () => {
  it.each<[string, () => object, string]>([
    [
      'a function in a property',
      () => Object.assign(new Decorated(), { run: () => constructed.push('called') }),
      'X.run is a function',
    ],
    [
      'a function within a nested class',
      () =>
        Object.assign(new Order(), {
          addresses: [Object.assign(new Address(), { run: () => constructed.push('called') })],
        }),
      'X.addresses[0].run is a function',
    ],
    ['a class without @Type', () => Object.assign(new Decorated(), { a: [new Address()] }), 'X.a[0] is an Address'],
    [
      'a cycle',
      () => {
        class Link {
          @Type(() => Link) next?: object;
        }
        const link = new Link();
        link.next = Object.assign(new Link(), { next: link });
        return link;
      },
      'X.next.next is a way back',
    ],
    [
      'a property __proto__',
      () => Object.defineProperty(new Decorated(), '__proto__', { value: 1, enumerable: true }),
      'X.__proto__ is a property of that name',
    ],
    [
      'a symbol as a key',
      () => Object.assign(new Decorated(), { [Symbol('s')]: 1 }),
      'X is an object with the property Symbol(s)',
    ],
  ])('is refused with its path before anything is called: %s', (_, make, message) => {
    const instance = make();
    constructed.length = 0;

    const text = messageOf(() => encode(instance));

    expect(text).toContain(UnserializableValueError.name);
    expect(text).toContain(message);
    expect(constructed).toEqual([]);
  });

  it.each([new Error('e'), Buffer.from('b'), new URL('https://a.example'), /a/u, new Date(0), new ArrayBuffer(2), 5n])(
    'travels unchanged even if @Type declares another class: %p',
    (value) => {
      const order = Object.assign(new Order(), { address: value });

      expect(differences(roundTrip(order), order)).toEqual([]);
    },
  );

  it('is a chain of typed instances too long for the stack', () => {
    class Link {
      @Type(() => Link) next?: Link;
    }
    const chain = Array.from({ length: 20_000 }).reduce<Link>(
      (next) => Object.assign(new Link(), { next }),
      new Link(),
    );

    expect(messageOf(() => encode(chain))).toContain('more than 512 levels');
  });
});
