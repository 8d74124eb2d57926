/** Any class, including those with a protected constructor. */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export type Class<T extends object = object> = Function & { readonly prototype: T };

/**
 * The class of an instance. Undefined for a class, a value that is not an object, and an object without a class. Read from the
 * prototype: an own property `constructor` is data.
 */
export function classOf(value: unknown): Class | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: unknown } | null;
  const target = prototype?.constructor;
  return typeof target === 'function' && target.prototype === prototype ? target : undefined;
}

/** Nobody gives a class so short a name, but minifiers do, and the next build may give the name to another class. */
export function isMinified(name: string): boolean {
  return /^[\w$]{1,2}$/.test(name);
}

/** The class that it extends. */
export function parentOf(target: Class): Class | undefined {
  const above: unknown = Object.getPrototypeOf(target);
  return typeof above === 'function' && above !== Function.prototype ? above : undefined;
}
