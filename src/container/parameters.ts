/**
 * `@Inject()`, and which parameters are injected by which token: found once for each class. A parameter that nothing could fill is
 * refused when the class is declared, not in the first run.
 */
import 'reflect-metadata';
import { parameterNames, type Class } from '../base/class';
import {
  undefinedToken,
  foreignDecorator,
  misplacedInject,
  missingType,
  uninjectedParameter,
  type ParameterPlace,
} from './errors';
import { inject, injectable, type InjectionToken } from 'tsyringe';

declare const produces: unique symbol;

/** A name for something without a class. `Symbol('smtp') as NamedToken<Smtp>` tells the compiler what it resolves to. */
export type NamedToken<T = unknown> = (string | symbol) & { readonly [produces]?: T };

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

/** Passes our `@Inject()` on a constructor's parameter on to tsyringe. */
export function markForTsyringe(target: object, index: number, token: unknown): void {
  inject(token as InjectionToken)(target, undefined, index);
}

/** Lets tsyringe construct a handler without `@injectable()`. */
export function makeResolvable(handler: Class): void {
  // tsyringe inherits a constructor's types, but not the tokens of its parameters.
  const tokens: unknown = Reflect.getMetadata('injectionTokens', handler);
  if (tokens !== undefined) Reflect.defineMetadata('injectionTokens', tokens, handler);
  injectable()(handler as never);
}

export interface Injection {
  readonly position: number;
  readonly token: unknown;
}

/** How many parameters the caller fills itself: a handler gets the job first, a listener the event, `failed` the error. */
const LEADING = {
  job: { handle: 0, handleAll: 1, failed: 1, middleware: 0 },
  handler: { handle: 1, failed: 2 },
  listener: { handle: 1, failed: 2, middleware: 1, shouldQueue: 1 },
} as const;

/**
 * The types that TypeScript emits where no container can make a value; Object stands for every type that it does not know.
 */
const NO_DEPENDENCIES: ReadonlySet<unknown> = new Set([
  Object,
  String,
  Number,
  Boolean,
  Array,
  Function,
  Promise,
  Symbol,
  BigInt,
  Date,
  Map,
  Set,
]);

/** Where `Inject` of `@nestjs/common` keeps its tokens. */
const OF_NEST = 'self:paramtypes';

/** The one static method with injected parameters. */
const STATIC = 'handleAll';

/** What calls of methods have injected, by class and method: found once. */
export const plans = new WeakMap<Class, Map<string, readonly Injection[]>>();

/**
 * All injections of a job or a handler, checked when it is declared.
 * @throws E_UNINJECTED_PARAMETER, E_MISSING_TYPE, E_MISPLACED_INJECT, E_FOREIGN_DECORATOR
 */
export function checkInjection(target: Class, kind: keyof typeof LEADING, file?: string): readonly Injection[] {
  const ofMethods = Object.entries(LEADING[kind]).flatMap(([method, leading]) =>
    injectionsOf(target, method, leading, file),
  );
  // Nest makes it itself as a rule, and knows more of its own decorators than we do. Otherwise its first run says what is wrong.
  const isOfNest = kind !== 'job' && Reflect.hasOwnMetadata(OF_NEST, constructorOwner(target));
  if (kind !== 'job') return isOfNest ? ofMethods : [...ofMethods, ...constructorInjections(target, file)];
  checkDataConstructor(target, file);
  return ofMethods;
}

/** What calls of these methods have injected. */
export function tokensOf(target: Class, kind: keyof typeof LEADING, methods: readonly string[]): readonly unknown[] {
  const known = Object.entries(LEADING[kind]).filter(([method]) => methods.includes(method));
  return known.flatMap(([method, leading]) => injectionsOf(target, method, leading).map(({ token }) => token));
}

/** @param leading how many parameters the caller fills itself */
export function injectionsOf(target: Class, method: string, leading: number, file?: string): readonly Injection[] {
  return planned(target, method, () => readMethod(target, method, leading, file));
}

/** The tokens of a handler's constructor, in order. */
export function constructorInjections(target: Class, file?: string): readonly Injection[] {
  return planned(target, CONSTRUCTOR, () => readConstructor(target, file));
}

function planned(target: Class, method: string, read: () => readonly Injection[]): readonly Injection[] {
  let methods = plans.get(target);
  if (methods === undefined) plans.set(target, (methods = new Map<string, readonly Injection[]>()));
  let plan = methods.get(method);
  if (plan === undefined) methods.set(method, (plan = read()));
  return plan;
}

function readMethod(target: Class, method: string, leading: number, file: string | undefined): readonly Injection[] {
  const isStatic = method === STATIC;
  const holder = ownerOf(isStatic ? target : target.prototype, method);
  const run: unknown = holder && Reflect.get(holder, method);
  if (holder === undefined || typeof run !== 'function') return [];
  // On a class, the same marks are of its constructor.
  if (!isStatic) refuseForeign(holder, target, method);
  const tokens = markedParameters(holder, method);
  const types: unknown = Reflect.getOwnMetadata('design:paramtypes', holder, method);
  const plan: Injection[] = [];
  for (let position = 0; position < parameterCount(run.length, tokens); position++) {
    const place = (): ParameterPlace => placeOf(target, method, position, file);
    const marked = tokens.get(position);
    if (marked !== undefined && position < leading) throw misplacedInject(place(), leadingReason(leading));
    // A parameter with a default is not counted by `length`, and needs no @Inject().
    if (marked === undefined && leading <= position && position < run.length) throw uninjectedParameter(place());
    if (marked !== undefined) plan.push({ position, token: tokenOf(marked, types, position, place) });
  }
  return plan;
}

function readConstructor(target: Class, file: string | undefined): readonly Injection[] {
  const holder = constructorOwner(target);
  const tokens = markedParameters(holder, CONSTRUCTOR);
  const types: unknown = Reflect.getOwnMetadata('design:paramtypes', holder);
  const ofTsyringe = Reflect.getOwnMetadata('injectionTokens', holder) as Readonly<Record<number, unknown>> | undefined;
  const ofNest = Reflect.getOwnMetadata(OF_NEST, holder) as { index: number; param: unknown }[] | undefined;
  const theirs: Readonly<Record<number, unknown>> = {
    ...ofTsyringe,
    ...Object.fromEntries((ofNest ?? []).map(({ index, param }) => [index, param])),
  };
  const declared = Math.max(holder.length, Array.isArray(types) ? types.length : 0);
  return Array.from({ length: parameterCount(declared, tokens) }, (_, position) => {
    const marked = tokens.get(position) ?? theirs[position] ?? BY_TYPE;
    const place = (): ParameterPlace => placeOf(target, CONSTRUCTOR, position, file);
    return { position, token: tokenOf(marked, types, position, place) };
  });
}

/** A parameter, for errors only: this reads the source. */
export function placeOf(target: Class, method: string, position: number, file?: string): ParameterPlace {
  const source: unknown =
    method === CONSTRUCTOR
      ? constructorOwner(target)
      : Reflect.get(method === STATIC ? target : target.prototype, method);
  const names = typeof source === 'function' ? parameterNames(Function.prototype.toString.call(source)) : [];
  return { class: target.name, method, position, parameter: names[position], file };
}

function checkDataConstructor(target: Class, file: string | undefined): void {
  const [position] = markedParameters(constructorOwner(target), CONSTRUCTOR).keys();
  if (position === undefined) return;
  const place = placeOf(target, CONSTRUCTOR, position, file);
  throw misplacedInject(place, 'What the constructor of a job takes is data; dependencies come to handle().');
}

function refuseForeign(prototype: object, target: Class, method: string): void {
  // Neither library records the method, but on a prototype both mean a parameter of some method.
  if (Reflect.hasOwnMetadata('injectionTokens', prototype)) {
    throw foreignDecorator(target.name, method, 'tsyringe', 'inject, which serves constructors only');
  }
  if (Reflect.hasOwnMetadata(OF_NEST, prototype)) {
    throw foreignDecorator(target.name, method, '@nestjs/common', 'Inject');
  }
}

/** @param types the emitted types, if TypeScript emitted any */
function tokenOf(marked: unknown, types: unknown, position: number, place: () => ParameterPlace): unknown {
  if (marked !== BY_TYPE) return marked;
  const type: unknown = Array.isArray(types) ? types[position] : undefined;
  if (typeof type === 'function' && !NO_DEPENDENCIES.has(type)) return type;
  // tsyringe's @injectable() replaces types by descriptors.
  if (typeof type === 'object' && type !== null) return type;
  throw missingType(place(), typeof type === 'function' ? type.name : undefined);
}

function parameterCount(declared: number, tokens: ReadonlyMap<number, unknown>): number {
  return Math.max(declared, ...[...tokens.keys()].map((position) => position + 1));
}

function ownerOf(prototype: object, method: string): object | undefined {
  let holder: object | null = prototype;
  while (holder !== null && !Object.hasOwn(holder, method)) holder = Object.getPrototypeOf(holder) as object | null;
  return holder ?? undefined;
}

/** The class whose constructor runs: a class that declares none inherits one. */
export function constructorOwner(target: Class): Class {
  let holder = target;
  while (holder.length === 0 && !Reflect.hasOwnMetadata('design:paramtypes', holder)) {
    const above: unknown = Object.getPrototypeOf(holder);
    if (typeof above !== 'function' || above === Function.prototype) return target;
    holder = above;
  }
  return holder;
}

function leadingReason(leading: number): string {
  return leading === 1
    ? 'The first parameter is given by the run (the job, or the error in failed()); injected ones come after it.'
    : `The first ${leading} parameters are given by the run; injected ones come after them.`;
}
