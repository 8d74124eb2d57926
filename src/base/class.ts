/** Any class, also with a protected constructor. */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export type Class<T extends object = object> = Function & { readonly prototype: T };
