import { inject as tsyringeInject } from 'tsyringe';
import { Inject, checkInjection, constructorInjections, injectionsOf } from '../../src/container/parameters';
import { Handles } from '../../src/job/declare';
import { Job } from '../../src/job/job';

class Mailer {}
interface Clock {
  now(): number;
}

describe('the injected parameters of a method', () => {
  it('are known by type or by token', () => {
    class Sends {
      handle(@Inject() _a: Mailer, @Inject(Mailer) _b: Mailer, @Inject('clock') _c: Clock) {}
    }
    expect(injectionsOf(Sends, 'handle', 0)).toEqual([
      { position: 0, token: Mailer },
      { position: 1, token: Mailer },
      { position: 2, token: 'clock' },
    ]);
  });

  it('come after those given by the run', () => {
    class Fails {
      failed(_error: Error, @Inject() _mailer: Mailer) {}
    }
    expect(injectionsOf(Fails, 'failed', 1)).toEqual([{ position: 1, token: Mailer }]);
  });

  it('are inherited with the method', () => {
    class Parent {
      handle(@Inject() _mailer: Mailer) {}
    }
    class Child extends Parent {}
    expect(injectionsOf(Child, 'handle', 0)).toEqual([{ position: 0, token: Mailer }]);
  });

  it('may surround a parameter with a default', () => {
    class Defaults {
      handle(@Inject() _first: Mailer, _verbose = false, @Inject() _second?: Mailer) {}
    }
    expect(injectionsOf(Defaults, 'handle', 0)).toEqual([
      { position: 0, token: Mailer },
      { position: 2, token: Mailer },
    ]);
  });

  it('are none if there is no such method', () => {
    expect(injectionsOf(Mailer, 'handle', 0)).toEqual([]);
  });
});

describe('a declaration', () => {
  it('is refused for a parameter of handle() without @Inject()', () => {
    class Bare {
      handle(_mailer: Mailer) {}
    }
    expect(() => Job()(Bare)).toThrow(expect.objectContaining({ code: 'E_UNINJECTED_PARAMETER' }));
    expect(() => Job()(Bare)).toThrow(
      'Bare.handle, parameter 0 (_mailer) in test/container/parameters.test.ts has no @Inject(), so nothing would fill it. ' +
        "Write @Inject(Mailer), imported from 'onqueue', or take it with this.make(Mailer) in handle() (in a handler: inject(Mailer) in a field).",
    );
  });

  it('is refused for one parameter without @Inject() among others with it', () => {
    class Mixed {
      handle(@Inject() _mailer: Mailer, _other: Mailer) {}
    }
    expect(() => Job()(Mixed)).toThrow('Mixed.handle, parameter 1 (_other)');
  });

  it('is refused for an overridden handle() that lost its decorators', () => {
    class Parent {
      handle(@Inject() _mailer: Mailer) {}
    }
    class Overrides extends Parent {
      override handle(_mailer: Mailer) {}
    }
    expect(() => Job()(Overrides)).toThrow(expect.objectContaining({ code: 'E_UNINJECTED_PARAMETER' }));
  });

  it('is refused for a parameter for which TypeScript emitted no class', () => {
    class ByInterface {
      handle(@Inject() _mailer: Mailer, @Inject() _clock: Clock) {}
    }
    expect(() => Job()(ByInterface)).toThrow(expect.objectContaining({ code: 'E_MISSING_TYPE' }));
    expect(() => Job()(ByInterface)).toThrow(
      'ByInterface.handle, parameter 1 (_clock) in test/container/parameters.test.ts: TypeScript emitted no type (no ' +
        'emitDecoratorMetadata, tsx, esbuild, an interface or an import type, or two files that import each other). Write @Inject(Mailer), or take it with this.make(Mailer) in handle()',
    );
  });

  it('is refused for a parameter under a compiler that emits no types', () => {
    class NoMetadata {
      handle(_mailer: Mailer) {}
    }
    Inject()(NoMetadata.prototype, 'handle', 0);
    expect(() => Job()(NoMetadata)).toThrow(expect.objectContaining({ code: 'E_MISSING_TYPE' }));
  });

  it('is refused for a parameter whose type no container can make', () => {
    class ByString {
      handle(@Inject() _name: string) {}
    }
    expect(() => Job()(ByString)).toThrow(
      'its type is String, which no container makes. Write @Inject(Mailer), or take it with this.make(Mailer)',
    );
  });

  it('is refused for an undefined token', () => {
    const declare = () => Inject(undefined as never)(Mailer.prototype as never, 'handle', 0);
    expect(declare).toThrow(expect.objectContaining({ code: 'E_UNDEFINED_TOKEN' }));
    expect(declare).toThrow('Mailer.handle, parameter 0: the token is undefined. Two files import each other');
  });

  it("is refused for tsyringe's inject on a method", () => {
    class Theirs {
      handle(@tsyringeInject(Mailer) _mailer: Mailer) {}
    }
    expect(() => Job()(Theirs)).toThrow(expect.objectContaining({ code: 'E_FOREIGN_DECORATOR' }));
    expect(() => Job()(Theirs)).toThrow(
      "Theirs.handle: this is tsyringe's inject, which serves constructors only; import Inject from 'onqueue'.",
    );
  });

  it("is refused for Nest's Inject on a method, and read on a handler's constructor", () => {
    // This is what @nestjs/common's Inject records: on the prototype for a method, on the class for a constructor.
    const nestInject = (target: object, _key: unknown, index: number) =>
      Reflect.defineMetadata('self:paramtypes', [{ index, param: Mailer }], target);
    class OnMethod {
      handle(@nestInject _mailer: Mailer) {}
    }
    @Job()
    class NestData {}
    class OnConstructor {
      constructor(@nestInject readonly mailer: Mailer) {}
      handle(_job: NestData) {}
    }
    expect(() => Job()(OnMethod)).toThrow(
      "OnMethod.handle: this is @nestjs/common's Inject; import Inject from 'onqueue'.",
    );
    Handles(NestData)(OnConstructor);
    expect(constructorInjections(OnConstructor)).toEqual([{ position: 0, token: Mailer }]);
  });

  it('is refused for an @Inject() on a parameter that the run gives', () => {
    class JobComesFirst {
      handle(@Inject() _mailer: Mailer, _job: unknown) {}
    }
    class TakesError {
      failed(@Inject() _mailer: Mailer) {}
    }
    expect(() => checkInjection(JobComesFirst, 'handler')).toThrow(
      expect.objectContaining({ code: 'E_MISPLACED_INJECT' }),
    );
    expect(() => Job()(TakesError)).toThrow('TakesError.failed, parameter 0 (_mailer)');
  });

  it('is refused for an @Inject() in the constructor of a job', () => {
    class TakesMailer {
      constructor(@Inject() readonly mailer: Mailer) {}
    }
    expect(() => Job()(TakesMailer)).toThrow(
      'What the constructor of a job takes is data; dependencies come to handle().',
    );
  });

  it("is refused for a handler's constructor parameter for which TypeScript emitted no class", () => {
    @Job()
    class ConstructorData {}
    class TakesClock {
      constructor(
        readonly mailer: Mailer,
        readonly clock: Clock,
      ) {}
      handle(_job: ConstructorData) {}
    }
    // swc and tsc emit this for a decorated class; here the decorator is only called below.
    Reflect.defineMetadata('design:paramtypes', [Mailer, Object], TakesClock);
    expect(() => Handles(ConstructorData)(TakesClock)).toThrow(
      "TakesClock's constructor, parameter 1 (clock) in test/container/parameters.test.ts: TypeScript emitted no type",
    );
  });
});
