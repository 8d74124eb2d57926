/** `@Inject()`: marks a parameter of `handle`, `failed`, `middleware` or a constructor that the container fills. */
import 'reflect-metadata';
import type { Class } from '../base/class';
import type { NamedToken } from './container';
import { undefinedToken } from './errors';
import { markForTsyringe } from './tsyringe-scope';

/** Stands for a token that is read from the emitted type of the parameter. */
export const BY_TYPE = Symbol('by type');

/** The key of a constructor's parameters: their decorator gets no method name. */
export const CONSTRUCTOR = 'constructor';

type Tokens = ReadonlyMap<number, unknown>;

const marks = new WeakMap<object, Map<PropertyKey, Map<number, unknown>>>();

/** The parameter's declared type; unknown if the compiler cannot tell (a private method or constructor). */
type ParameterAt<Target, Key, Index extends number> = Key extends keyof Target
  ? ParameterOf<Target[Key], Index>
  : Key extends undefined
    ? Target extends abstract new (...parameters: infer Parameters) => unknown
      ? Parameters[Index]
      : unknown
    : unknown;

type ParameterOf<Method, Index extends number> = Method extends (...parameters: infer Parameters) => unknown
  ? Parameters[Index]
  : unknown;

type Fits<Parameter, Given> = unknown extends Given
  ? unknown
  : [Given] extends [Parameter]
    ? unknown
    : { readonly 'the token gives': Given; readonly 'the parameter is': Parameter };

/** Compares the token's type with the parameter's type. */
type Injector<Given> = <Target extends object, Key extends PropertyKey | undefined, Index extends number>(
  target: Target & Fits<ParameterAt<Target, Key, Index>, Given>,
  key: Key,
  index: Index,
) => void;

/**
 * Without a token, the parameter's type is the token. That needs `emitDecoratorMetadata`, which tsx and esbuild lack.
 * @throws E_UNDEFINED_TOKEN when the class is declared
 */
export function Inject(): Injector<unknown>;
export function Inject<T extends object>(token: Class<T>): Injector<T>;
export function Inject<T>(token: NamedToken<T> | object): Injector<T>;
export function Inject(...given: [token?: unknown]): Injector<unknown> {
  return (target, key, index) => {
    const method = key ?? CONSTRUCTOR;
    const [token = BY_TYPE] = given;
    if (given.length > 0 && given[0] === undefined) throw undefinedToken(subjectOf(target, method, index));
    const methods = marks.get(target) ?? new Map<PropertyKey, Map<number, unknown>>();
    const tokens = methods.get(method) ?? new Map<number, unknown>();
    marks.set(target, methods.set(method, tokens.set(index, token)));
    if (method === CONSTRUCTOR && token !== BY_TYPE) markForTsyringe(target, index, token);
  };
}

/** @param holder the prototype that owns the method, or the class for its constructor */
export function markedParameters(holder: object, method: string): Tokens {
  return marks.get(holder)?.get(method) ?? NONE;
}

const NONE: Tokens = new Map();

function subjectOf(target: object, method: PropertyKey, index: number): string {
  const name = typeof target === 'function' ? target.name : target.constructor.name;
  return `${name}.${String(method)}, parameter ${index}`;
}
