/**
 * Which parameters are injected, and by which token: read once for each class. A parameter that nothing could fill is
 * refused when the class is declared, not in the first run.
 */
import 'reflect-metadata';
import type { Class } from '../base/class';
import { parameterNames } from '../base/source-text';
import { foreignDecorator, misplacedInject, missingType, type ParameterPlace, uninjectedParameter } from './errors';
import { BY_TYPE, CONSTRUCTOR, markedParameters } from './inject';

export interface Injection {
  readonly position: number;
  readonly token: unknown;
}

/** How many parameters the caller fills itself: a handler gets the job first, `failed` the error. */
const LEADING = {
  job: { handle: 0, failed: 1, middleware: 0 },
  handler: { handle: 1, failed: 2 },
} as const;

/** What TypeScript emits for types that no container makes; Object stands for all that it does not know. */
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

const plans = new WeakMap<Class, Map<string, readonly Injection[]>>();

/**
 * Checks a job or a handler when it is declared.
 * @throws E_UNINJECTED_PARAMETER, E_MISSING_TYPE, E_MISPLACED_INJECT, E_FOREIGN_DECORATOR
 */
export function checkInjection(target: Class, kind: 'job' | 'handler', file?: string): void {
  for (const [method, leading] of Object.entries(LEADING[kind])) injectionsOf(target, method, leading, file);
  if (kind === 'handler') constructorInjections(target, file);
  else checkDataConstructor(target, file);
}

/** @param leading how many parameters the caller fills itself */
export function injectionsOf(target: Class, method: string, leading: number, file?: string): readonly Injection[] {
  const known = plans.get(target)?.get(method);
  if (known !== undefined) return known;
  const plan = readMethod(target, method, leading, file);
  const methods = plans.get(target) ?? new Map<string, readonly Injection[]>();
  plans.set(target, methods.set(method, plan));
  return plan;
}

function readMethod(target: Class, method: string, leading: number, file: string | undefined): readonly Injection[] {
  const holder = ownerOf(target.prototype, method);
  const run: unknown = holder && Reflect.get(holder, method);
  if (holder === undefined || typeof run !== 'function') return [];
  refuseForeign(holder, target, method);
  const tokens = markedParameters(holder, method);
  const types = emittedTypes(Reflect.getOwnMetadata('design:paramtypes', holder, method));
  const place = placesIn(target, method, run, file);
  const plan: Injection[] = [];
  for (let position = 0; position < parameterCount(run.length, tokens); position++) {
    const marked = tokens.get(position);
    if (position < leading) {
      if (marked === undefined) continue;
      throw misplacedInject(place(position), leadingReason(leading));
    }
    // A parameter with a default is not counted by `length`, and needs no @Inject().
    if (marked === undefined && position >= run.length) continue;
    if (marked === undefined) throw uninjectedParameter(place(position));
    plan.push({ position, token: marked === BY_TYPE ? emitted(types, place(position)) : marked });
  }
  return plan;
}

/** The tokens of a handler's constructor, in order. */
export function constructorInjections(target: Class, file?: string): readonly Injection[] {
  const holder = constructorOwner(target);
  if (Reflect.hasOwnMetadata('self:paramtypes', holder)) {
    throw foreignDecorator(target.name, CONSTRUCTOR, '@nestjs/common', 'Inject');
  }
  const tokens = markedParameters(holder, CONSTRUCTOR);
  const types = emittedTypes(Reflect.getOwnMetadata('design:paramtypes', holder));
  const theirs = (Reflect.getOwnMetadata('injectionTokens', holder) ?? {}) as Readonly<Record<number, unknown>>;
  const place = placesIn(target, CONSTRUCTOR, holder, file);
  return Array.from({ length: parameterCount(Math.max(holder.length, types.length), tokens) }, (_, position) => {
    const token = tokens.get(position) ?? theirs[position] ?? BY_TYPE;
    return { position, token: token === BY_TYPE ? emitted(types, place(position)) : token };
  });
}

/** Names a parameter for an error; reads the source only then. */
export function placesIn(
  target: Class,
  method: string,
  // oxlint-disable-next-line typescript/no-unsafe-function-type
  source: Function,
  file: string | undefined,
): (position: number) => ParameterPlace {
  return (position) => {
    const parameter = parameterNames(Function.prototype.toString.call(source))[position];
    return { class: target.name, method, position, parameter, file };
  };
}

function checkDataConstructor(target: Class, file: string | undefined): void {
  const holder = constructorOwner(target);
  for (const position of markedParameters(holder, CONSTRUCTOR).keys()) {
    const place = placesIn(target, CONSTRUCTOR, holder, file)(position);
    throw misplacedInject(place, 'What the constructor of a job takes is data; dependencies come to handle().');
  }
}

function refuseForeign(prototype: object, target: Class, method: string): void {
  // Neither records the method, but on a prototype both mean a parameter of some method.
  if (Reflect.hasOwnMetadata('injectionTokens', prototype)) {
    throw foreignDecorator(target.name, method, 'tsyringe', 'inject, which serves constructors only');
  }
  if (Reflect.hasOwnMetadata('self:paramtypes', prototype)) {
    throw foreignDecorator(target.name, method, '@nestjs/common', 'Inject');
  }
}

function emitted(types: readonly unknown[], place: ParameterPlace): unknown {
  const type = types[place.position];
  if (typeof type === 'function' && !NO_DEPENDENCIES.has(type)) return type;
  // tsyringe's @injectable() replaces types by descriptors.
  if (typeof type === 'object' && type !== null) return type;
  throw missingType(place, typeof type === 'function' ? type.name : undefined);
}

function emittedTypes(metadata: unknown): readonly unknown[] {
  return Array.isArray(metadata) ? metadata : [];
}

function parameterCount(declared: number, tokens: ReadonlyMap<number, unknown>): number {
  return Math.max(declared, ...[...tokens.keys()].map((position) => position + 1));
}

function ownerOf(prototype: object, method: string): object | undefined {
  let holder: object | null = prototype;
  while (holder !== null && !Object.hasOwn(holder, method)) holder = Object.getPrototypeOf(holder) as object | null;
  return holder ?? undefined;
}

/** The class whose constructor runs: one that declares none inherits it. */
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
